"""Ranked memory: reservoir sampling and class-balanced memory.

Every row has a random number of its own, and a row gives way to rows with smaller ones (Vitter, "Random
Sampling with a Reservoir", 1985): the C smallest of N are a uniform sample, whenever one looks. Balanced over
classes, with r the rank of a row's number within its class, a client keeps the

    C smallest of (r, class),

so no class has two rows more than another that gave one away (Chrysakis and Moens, "Online Continual Learning
from Imbalanced Data", 2020). Ranks only grow, so a row that was given away never comes back.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.random import bits
from ...errors import ConfigError
from ...typing import Bools, Int64s
from .arrivals import Arrivals
from .memory import Candidates, MemoryRule, Span, memory_registry

_OWNER_BITS = np.uint64(24)


@memory_registry.add("reservoir")
class Reservoir(MemoryRule):
    """`reservoir:100` keeps a uniform sample of 100 of all rows that have arrived."""

    draws = True

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        assert self.capacity is not None
        self.room: int = self.capacity

    def span(self, arrivals: Arrivals, round: int) -> Span:
        return Span(arrivals.gone(round), arrivals.arrived(round))

    def keeps(self, rows: Candidates) -> Bools:
        return ranks(rows.owner, self._numbers(rows)) < self.room

    def _numbers(self, rows: Candidates) -> NDArray[np.uint64]:
        return bits(self.seed, "reservoir", rows.clients, rows.places)


@memory_registry.add("balanced")
class Balanced(Reservoir):
    """`balanced:100` keeps 100 of all rows that have arrived, as many of each class as possible."""

    needs_labels = True

    def keeps(self, rows: Candidates) -> Bools:
        if rows.labels is None or rows.labels.ndim != 1 or rows.labels.dtype.kind not in "iu":
            raise ConfigError("a balanced memory needs one class per row; use reservoir instead.")
        classes, label = np.unique(rows.labels, return_inverse=True)
        group = rows.owner * max(len(classes), 1) + label
        within = ranks(np.unique(group, return_inverse=True)[1], self._numbers(rows))
        order = bits(self.seed, "balanced", rows.clients, rows.labels)
        turn = (within.astype(np.uint64) << np.uint64(32)) | (order >> np.uint64(32))
        place = np.lexsort((turn, rows.owner))
        return _places(rows.owner, place) < self.room


def ranks(group: Int64s, numbers: NDArray[np.uint64]) -> Int64s:
    """The place of each number among those of its group.

    >>> ranks(np.array([0, 0, 1]), np.array([9, 5, 7], np.uint64) << np.uint64(40))
    array([1, 0, 0])
    """
    if len(group) and group.max() >= 1 << int(_OWNER_BITS):
        return _places(group, np.lexsort((numbers, group)))
    key = (group.astype(np.uint64) << (np.uint64(64) - _OWNER_BITS)) | (numbers >> _OWNER_BITS)
    return _places(group, np.argsort(key, kind="stable"))


def _places(group: Int64s, order: Int64s) -> Int64s:
    """Where each entry is within its group, when entries are ordered by group and then as `order` says."""
    counts = np.bincount(group)
    starts = np.cumsum(counts) - counts
    places = np.empty(len(group), np.int64)
    places[order] = np.arange(len(group)) - np.repeat(starts, counts)
    return places
