"""Load balancing: which core computes for which client?

Clients are dealt to cores so that all finish at about the same time: the longest job first, each to the
core that has least to do. Every core gets the same number of places; places that stay empty are skipped.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...typing import Array, Int64s
from .batches import round_up


class Layout(NamedTuple):
    """`place[d * width + j]` is the j-th client (an index into the cohort) of core d; the first `taken[d]`
    of each core are real."""

    place: Int64s
    taken: NDArray[np.int32]
    slot_of_client: Int64s
    """Where each client of the cohort ended up: `place[slot_of_client[i]] == i`."""

    def arrange(self, values: Array) -> Array:
        """Cohort order to core order (empty places repeat the first client)."""
        return values[self.place]

    def collect(self, values: Array) -> Array:
        """Core order back to cohort order."""
        return values[self.slot_of_client]


def assign_to_cores(work: NDArray[np.integer], cores: int, room: Callable[[int], int] = round_up) -> Layout:
    """Deal jobs with these amounts of work to cores; `room` says how many places are kept for so many jobs.

    >>> assign_to_cores(np.array([8, 1, 1, 1, 1, 1]), 2).taken.tolist()
    [1, 5]
    """
    hands = _equal_hands(len(work), cores) if len(np.unique(work)) <= 1 else _longest_first(work, cores)
    taken = np.array([len(hand) for hand in hands], np.int32)
    width = room(int(taken.max(initial=1)))
    place = np.zeros((cores, width), np.int64)
    slot_of_client = np.zeros(len(work), np.int64)
    for core, hand in enumerate(hands):
        place[core, : len(hand)] = hand
        slot_of_client[hand] = core * width + np.arange(len(hand))
    return Layout(place.ravel(), taken, slot_of_client)


def _equal_hands(jobs: int, cores: int) -> list[Int64s]:
    return np.array_split(np.arange(jobs), cores)


def _longest_first(work: NDArray[np.integer], cores: int) -> list[Int64s]:
    loads = [(0, core) for core in range(cores)]
    owner = np.empty(len(work), np.int64)
    for job in np.argsort(-work.astype(np.int64), kind="stable"):
        load, core = heapq.heappop(loads)
        owner[job] = core
        heapq.heappush(loads, (load + int(work[job]) + 1, core))
    return [np.flatnonzero(owner == core) for core in range(cores)]
