"""Bounded memory of a streaming node: which rows does it hold?

The rules are those of simulated streams. Here rows that a rule gives away are gone for good, which changes
nothing: whatever the rule, a row that it has given away never comes back. What is held lies in arrays of the
memory's capacity, so that programs see the same shapes from the first round to the last.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from ...data import Split
from ...data.arrays import aligned_empty
from ...data.streams import Arrivals, MemoryRule
from ...data.streams.memory import Candidates, make_memory
from ...errors import ConfigError
from ...typing import Array, Int64s


class _CountedArrivals(Arrivals):
    """How many rows of one client had come by which round."""

    def __init__(self) -> None:
        super().__init__()
        self.begin(np.zeros(1, np.int64), 0)
        self._rounds: list[int] = []
        self._totals: list[int] = [0]

    def add(self, round: int, rows: int) -> None:
        """So many rows more have come in a round, which is none before the last."""
        self._rounds.append(round)
        self._totals.append(self._totals[-1] + rows)

    def arrived(self, round: int) -> Int64s:
        return np.array([self._totals[bisect_right(self._rounds, round)]])


class BoundedMemory:
    """One client's memory: rows are taken, and forgotten as the rule says.

    >>> empty = Split(np.zeros((1, 1)), np.zeros(1), np.array([0, 1]))
    >>> held = BoundedMemory(empty, make_memory("fifo:2"), seed=0)
    >>> held.take(0, np.arange(3.0)[:, None], np.arange(3))
    >>> held.forget(0)
    >>> held.y.tolist(), held.padded().sizes
    ([1.0, 2.0], array([2]))
    """

    def __init__(self, like: Split, rule: MemoryRule, seed: int) -> None:
        self.rule, self._arrivals = rule, _CountedArrivals()
        rule.begin(seed)
        self.x, self.y, self._places = like.x[:0], like.y[:0], np.zeros(0, np.int64)
        self._came = 0

    def __len__(self) -> int:
        return len(self.y)

    @property
    def capacity(self) -> int:
        """Rows that there is room for."""
        assert self.rule.capacity is not None
        return self.rule.capacity

    def take(self, round: int, x: Array, y: Array) -> None:
        """Rows that come in a round, after those that are here."""
        self._arrivals.add(round, len(y))
        self._places = np.concatenate([self._places, self._came + np.arange(len(y))])
        self._came += len(y)
        self.x = np.concatenate([self.x, x.astype(self.x.dtype, copy=False)])
        self.y = np.concatenate([self.y, y.astype(self.y.dtype, copy=False)])

    def forget(self, round: int) -> None:
        """Keep what the rule keeps in this round."""
        span = self.rule.span(self._arrivals, round)
        self._keep(np.flatnonzero((self._places >= span.first[0]) & (self._places < span.last[0])))
        nobody = np.zeros(len(self), np.int64)
        labels = self.y if self.rule.needs_labels else None
        kept = self.rule.keeps(Candidates(nobody, nobody, self._places, labels))
        if kept is not None:
            self._keep(np.flatnonzero(kept))

    def padded(self) -> Split:
        """What is held, in arrays with room for the capacity."""
        return Split(
            _pad(self.x, self.capacity), _pad(self.y, self.capacity), np.array([0, len(self)], np.int64)
        )

    def _keep(self, index: Int64s) -> None:
        if len(index) < len(self):
            self.x, self.y, self._places = self.x[index], self.y[index], self._places[index]


def make_bounded_memory(words: str) -> MemoryRule:
    """The rule of a specification, which must say for how many rows there is room."""
    rule = make_memory(words)
    if rule.capacity is None:
        more = f"{words},200" if ":" in words else f"{words}:200"
        raise ConfigError(
            f"a node tells the server for how many rows it has room, but --memory {words} does not say; "
            f"write --memory {more}, for example."
        )
    return rule


def _pad(rows: Array, length: int) -> Array:
    room = aligned_empty((length, *rows.shape[1:]), rows.dtype)
    room[: len(rows)], room[len(rows) :] = rows, 0
    return room
