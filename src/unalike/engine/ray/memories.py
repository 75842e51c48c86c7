"""What do clients remember that are spread over a cluster?

Here is only a table of who remembers anything. The memories stay with the workers, who are asked when
somebody wants to see or to save them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from ...core.pytrees import Tree
from ..memories import Memories
from .pool import Pool


class ShardedMemories(Memories):
    """The memories of all clients, which are where the clients are."""

    def __init__(self, template: Tree, clients: int, pool: Pool) -> None:
        super().__init__(template, clients)
        self._template, self._pool = template, pool
        self._arrays = []  # nothing is here

    def admit(self, clients: NDArray[np.int64]) -> None:
        """These clients remember something now."""
        if self:
            self._admit(clients)

    def gather(self, clients: NDArray[np.int64]) -> tuple[Tree, NDArray[np.bool_]]:
        """Fetched from the workers."""
        fresh = self.fresh(clients)
        leaves = [np.zeros((len(clients), *shape.shape), shape.dtype) for shape in self._shapes]
        known = np.flatnonzero(~fresh) if self else np.zeros(0, np.int64)
        places = _by_worker(self._pool, known, clients)
        answers = self._pool.ask({k: _remembered(clients[place]) for k, place in places.items()})
        for k, ((_, found), *_) in answers.items():
            for leaf, part in zip(leaves, jax.tree.leaves(found), strict=True):
                leaf[places[k]] = part
        return jax.tree.unflatten(self._structure, leaves), fresh

    def scatter(self, clients: NDArray[np.int64], memories: Tree) -> None:
        """Sent to the workers."""
        if not self:
            return
        pool = self._pool
        places = _by_worker(pool, np.arange(len(clients)), clients)
        parts = {k: pool.ray.put(_some(clients, memories, place)) for k, place in places.items()}
        pool.ask({k: _remember(part) for k, part in parts.items()})
        for k, part in parts.items():
            pool.note(k, part, len(places[k]))
        self._admit(clients)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Everything, fetched from the workers, as one machine would save it."""
        if not self:
            return {}
        seen = self.seen()
        inside = self.gather(seen[np.argsort(self._slots[seen])])[0]
        return {"slots": self._slots, **{str(i): leaf for i, leaf in enumerate(jax.tree.leaves(inside))}}

    def restore(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Sent to the workers, who forget what they remembered."""
        whole = Memories(self._template, len(self._slots))
        whole.restore(tensors)
        if self:
            self._pool.begin(self._template)
            seen = whole.seen()
            self._slots, self._used = np.full_like(self._slots, -1), 0
            in_order = seen[np.argsort(tensors["slots"][seen])]
            self.scatter(in_order, whole.gather(in_order)[0])


def _by_worker(
    pool: Pool, places: NDArray[np.int64], clients: NDArray[np.int64]
) -> dict[int, NDArray[np.int64]]:
    """Which of these places belong to clients of which worker."""
    owner = pool.owner[clients[places]]
    return {int(k): places[owner == k] for k in np.unique(owner)}


def _some(
    clients: NDArray[np.int64], memories: Tree, places: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Tree]:
    return clients[places], jax.tree.map(lambda leaf: np.asarray(leaf)[places], memories)


def _remembered(clients: NDArray[np.int64]) -> Any:
    return lambda actor: [actor.remembered.remote(clients)]


def _remember(part: Any) -> Any:
    return lambda actor: [actor.remember.remote(part)]
