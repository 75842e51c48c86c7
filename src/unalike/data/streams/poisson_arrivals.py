"""Random arrivals: Poisson processes and bursts.

    b_m(t) ~ Poisson(rate),      or a burst of B rows with probability 1 / E, else none.

A round's draw is a function of (seed, client, round); only their sum must be counted, round by round. It is
kept for the rounds that were asked for last, and counted again from the first round when it is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import scipy

from ...core.random import bits
from ...errors import ConfigError
from ...typing import Array, Float64s, Int64s
from .arrivals import Arrivals, arrival_registry, check_rate

KEPT = 4
"""Rounds whose counts are kept: this one, the one before, and the one that a window begins with."""


class Counted(Arrivals):
    """Arrivals of which only each round's own are known; a process says :meth:`batch`."""

    def begin(self, sizes: Int64s, seed: int) -> None:
        super().begin(sizes, seed)
        self._counts: dict[int, Int64s] = {}

    def batch(self, round: int) -> Int64s:
        """Rows that are sent to each client in one round."""
        raise NotImplementedError(f"{type(self).__name__} must implement batch().")

    def sent(self, round: int) -> Int64s:
        before = max((r for r in self._counts if r <= round), default=-1)
        if before == round:
            counts = self._counts.pop(round)
        else:
            counts = self._counts[before].copy() if before >= 0 else np.zeros(len(self.sizes), np.int64)
            for r in range(before + 1, round + 1):
                counts += self.batch(r)
        self._counts[round] = counts
        while len(self._counts) > KEPT:
            del self._counts[next(iter(self._counts))]
        return counts

    def state(self) -> dict[str, Array]:
        if not self._counts:
            return {}
        return {"rounds": np.array(list(self._counts)), "counts": np.stack(list(self._counts.values()))}

    def restore(self, state: Mapping[str, Array]) -> None:
        if "rounds" in state:
            kept = zip(state["rounds"].tolist(), state["counts"], strict=True)
            self._counts = {r: np.array(counts) for r, counts in kept}

    def uniform(self, purpose: str, round: int) -> Float64s:
        """One number between 0 and 1 for each client."""
        drawn: Float64s = bits(self.seed, purpose, np.arange(len(self.sizes)), round) * np.float64(2.0**-64)
        return drawn


class Poisson(Counted):
    """A random number of rows each round, `rate` on average."""

    def __init__(self, rate: float, historical: float = 0) -> None:
        super().__init__(historical)
        self.rate = check_rate(rate)
        if rate > 1e6:
            raise ConfigError(f"a rate of Poisson arrivals must be at most 1,000,000, but is {rate}.")

    @cached_property
    def _cumulative(self) -> Float64s:
        longest = int(self.rate + 12 * self.rate**0.5 + 40)
        table: Float64s = scipy.special.pdtr(np.arange(longest), self.rate)
        return table

    def batch(self, round: int) -> Int64s:
        return np.searchsorted(self._cumulative, self.uniform("poisson", round), side="right")


class Bursts(Counted):
    """Many rows at once, now and then: `rows` with probability 1 / `every` in each round."""

    def __init__(self, rows: int, every: float, historical: float = 0) -> None:
        super().__init__(historical)
        self.rows, self.every = int(check_rate(rows)), every
        if self.rows != rows or not every >= 1:
            raise ConfigError(
                f"bursts are whole rows and come every 1 or more rounds, not {rows} every {every}."
            )

    def batch(self, round: int) -> Int64s:
        return np.where(self.uniform("burst", round) < 1 / self.every, self.rows, 0)


@arrival_registry.add("poisson")
def poisson(rate: float, historical: float = 0) -> Arrivals:
    """`poisson:20` sends every client a random number of rows a round, 20 on average; `poisson:20,0.5` as in
    `constant`."""
    return Poisson(rate, historical)


@arrival_registry.add("bursts")
def bursts(rows: int, every: float, historical: float = 0) -> Arrivals:
    """`bursts:200,10` sends a client 200 rows at once, every ten rounds on average; `bursts:200,10,0.5` as in
    `constant`."""
    return Bursts(rows, every, historical)
