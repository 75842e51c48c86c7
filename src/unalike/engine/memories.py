"""Client state between rounds (memories).

One slot per client that has ever taken part, in arrays that grow as needed: the cost follows the clients
seen, not the population.
"""

from __future__ import annotations

from collections.abc import Mapping

import jax
import numpy as np

from ..errors import RunError
from ..typing import Array, Bools, ClientIds, Int64s, Memory, PyTree


class Memories:
    """The memories of all clients seen so far, by client number; `template` gives one client's shapes."""

    def __init__(self, template: Memory, clients: int) -> None:
        self._shapes, self._structure = jax.tree.flatten(template)
        self._slots = np.full(clients if self._shapes else 0, -1, np.int64)
        self._used = 0
        self._arrays = [np.zeros((0, *shape.shape), shape.dtype) for shape in self._shapes]

    def __bool__(self) -> bool:
        return bool(self._shapes)

    def gather(self, clients: ClientIds) -> tuple[PyTree, Bools]:
        """The memories of these clients (leading axis), and which have none yet (theirs are zeros)."""
        fresh = self.fresh(clients)
        leaves = [self._take(array, self._slots[clients], fresh) for array in self._arrays]
        return jax.tree.unflatten(self._structure, leaves), fresh

    def fresh(self, clients: ClientIds) -> Bools:
        """Which of these clients have no memory yet."""
        return self._slots[clients] < 0 if self else np.zeros(len(clients), bool)

    def seen(self) -> Int64s:
        """The clients that have a memory."""
        return np.flatnonzero(self._slots >= 0)

    def scatter(self, clients: ClientIds, memories: Memory) -> None:
        """Keep what these clients remember now."""
        if not self:
            return
        self._admit(clients)
        for array, leaf in zip(self._arrays, jax.tree.leaves(memories), strict=True):
            array[self._slots[clients]] = np.asarray(leaf)

    def tensors(self) -> dict[str, Array]:
        """Everything, as named arrays for a checkpoint."""
        kept = {str(i): array[: self._used] for i, array in enumerate(self._arrays)}
        return {"slots": self._slots, **kept} if self else {}

    def restore(self, tensors: Mapping[str, Array]) -> None:
        """The inverse of :meth:`tensors`."""
        names = {"slots", *map(str, range(len(self._arrays)))} if self else set()
        if set(tensors) != names or (self and tensors["slots"].shape != self._slots.shape):
            raise RunError("the checkpoint's client memories are of another algorithm or federation.")
        arrays = [np.array(tensors[str(i)]) for i in range(len(self._arrays))]
        for array, shape in zip(arrays, self._shapes, strict=True):
            if array.shape[1:] != shape.shape or array.dtype != shape.dtype:
                raise RunError("the checkpoint's client memories do not fit this algorithm and model.")
        if self:
            self._slots, self._arrays = np.array(tensors["slots"]), arrays
            self._used = int(self._slots.max(initial=-1)) + 1

    @staticmethod
    def _take(array: Array, slots: Int64s, fresh: Bools) -> Array:
        answer = np.zeros((len(slots), *array.shape[1:]), array.dtype)
        answer[~fresh] = array[slots[~fresh]]
        return answer

    def _admit(self, clients: ClientIds) -> None:
        new = clients[self._slots[clients] < 0]
        self._slots[new] = self._used + np.arange(len(new))
        self._used += len(new)
        if self._arrays and self._used > len(self._arrays[0]):
            room = max(self._used, min(2 * len(self._arrays[0]), len(self._slots)))
            self._arrays = [_grow(array, room) for array in self._arrays]


def _grow(array: Array, room: int) -> Array:
    bigger = np.zeros((room, *array.shape[1:]), array.dtype)
    bigger[: len(array)] = array
    return bigger
