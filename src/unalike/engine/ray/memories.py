"""Client state on Ray.

Here is only a table of who remembers anything. The memories stay with the workers, who are asked when
somebody wants to see or to save them.
"""

from __future__ import annotations

from collections.abc import Mapping

import jax
import numpy as np

from ...typing import Array, Bools, ClientIds, Int64s, Memory, PyTree
from ..memories import Memories
from .pool import Call, Pool


class ShardedMemories(Memories):
    """The memories of all clients, which are where the clients are."""

    def __init__(self, template: Memory, clients: int, pool: Pool) -> None:
        super().__init__(template, clients)
        self._template, self._pool = template, pool
        self._arrays = []  # nothing is here

    def admit(self, clients: ClientIds) -> None:
        """These clients remember something now."""
        if self:
            self._admit(clients)

    def gather(self, clients: ClientIds) -> tuple[PyTree, Bools]:
        """Fetched from the workers."""
        fresh = self.fresh(clients)
        leaves = [np.zeros((len(clients), *shape.shape), shape.dtype) for shape in self._shapes]
        known = np.flatnonzero(~fresh) if self else np.zeros(0, np.int64)
        slots = _by_worker(self._pool, known, clients)
        answers = self._pool.ask({k: _remembered(clients[place]) for k, place in slots.items()})
        for k, ((_, found), *_) in answers.items():
            for leaf, part in zip(leaves, jax.tree.leaves(found), strict=True):
                leaf[slots[k]] = part
        return jax.tree.unflatten(self._structure, leaves), fresh

    def scatter(self, clients: ClientIds, memories: Memory) -> None:
        """Sent to the workers."""
        if not self:
            return
        pool = self._pool
        slots = _by_worker(pool, np.arange(len(clients)), clients)
        parts = {k: pool.ray.put(_some(clients, memories, place)) for k, place in slots.items()}
        pool.ask({k: _remember(part) for k, part in parts.items()})
        for k, part in parts.items():
            pool.note(k, part, len(slots[k]))
        self._admit(clients)

    def tensors(self) -> dict[str, Array]:
        """Everything, fetched from the workers, as one machine would save it."""
        if not self:
            return {}
        seen = self.seen()
        inside = self.gather(seen[np.argsort(self._slots[seen])])[0]
        return {"slots": self._slots, **{str(i): leaf for i, leaf in enumerate(jax.tree.leaves(inside))}}

    def restore(self, tensors: Mapping[str, Array]) -> None:
        """Sent to the workers, who forget what they remembered."""
        whole = Memories(self._template, len(self._slots))
        whole.restore(tensors)
        if self:
            self._pool.begin(self._template)
            seen = whole.seen()
            self._slots, self._used = np.full_like(self._slots, -1), 0
            in_order = seen[np.argsort(tensors["slots"][seen])]
            self.scatter(in_order, whole.gather(in_order)[0])


def _by_worker(pool: Pool, slots: Int64s, clients: ClientIds) -> dict[int, Int64s]:
    """Which of these places belong to clients of which worker."""
    owner = pool.owner[clients[slots]]
    return {int(k): slots[owner == k] for k in np.unique(owner)}


def _some(clients: ClientIds, memories: Memory, slots: Int64s) -> tuple[Int64s, PyTree]:
    return clients[slots], jax.tree.map(lambda leaf: np.asarray(leaf)[slots], memories)


def _remembered(clients: ClientIds) -> Call:
    return lambda actor: [actor.remembered.remote(clients)]


def _remember(part: PyTree) -> Call:
    return lambda actor: [actor.remember.remote(part)]
