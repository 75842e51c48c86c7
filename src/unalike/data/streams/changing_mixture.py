"""Arrivals whose mixture changes: which of its rows does a client receive in each round?

All rows are of few populations, here groups of classes; in every round each client draws new mixture weights,
and receives rows of the populations accordingly (the online game of Marfoq's doctoral thesis, 2023, sections
4.4.1 and 4.4.5):

    pi_c(t) ~ Dirichlet(alpha, ..., alpha),        n_c(t) ~ Multinomial(b_c(t), pi_c(t))

with b_c(t) the rows that arrive by another process, such as `constant:6`. Every row arrives once: where a
client has used up a population, the others take its part. So the mixture is an order of arrivals, and
everything else of a stream (memory, weights, drift, clock) goes with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.random import bits, generator
from ...errors import ConfigError
from ...typing import Float64s, Int64s
from ..federation import Federation
from ..sizes import whole
from .arrivals import Arrivals, arrival_registry

LONGEST_WAIT = 10_000
"""Rounds without any arrival after which nothing more is waited for, where no end is known."""


@dataclass(frozen=True)
class ChangingMixture:
    """Mixture weights that every client draws anew in every round, of populations that are groups of
    classes."""

    alpha: float = 0.1
    """Of the Dirichlet distribution: the smaller, the more a round is of one population."""
    groups: int = 4
    """Populations; classes are divided among them in order and as evenly as possible."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha < np.inf:
            raise ConfigError(f"alpha of a changing mixture must be above 0, but is {self.alpha}.")
        whole(self.groups, "the number of groups of a changing mixture")

    def populations(self, federation: Federation) -> Int64s:
        """The population of every class.

        >>> rows = Federation.from_owners(np.zeros((10, 1)), np.arange(10), np.zeros(10, int), classes=10)
        >>> ChangingMixture(groups=4).populations(rows).tolist()
        [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]
        """
        classes = federation.classes
        if classes is None:
            raise ConfigError(
                "arrivals of a changing mixture need classes, whose groups are the populations."
            )
        if not self.groups <= classes:
            raise ConfigError(
                f"a changing mixture of {self.groups} groups needs as many classes, but there are {classes}."
            )
        parts = np.array_split(np.arange(classes), self.groups)
        return np.repeat(np.arange(self.groups), [len(part) for part in parts])

    def weights(self, clients: int, seed: int, round: int) -> Float64s:
        """pi(t) of all clients, as (clients, groups)."""
        rng = generator(seed, "mixture weights", round)
        return rng.dirichlet(np.full(self.groups, self.alpha), clients)

    def order(self, federation: Federation, arrivals: Arrivals, seed: int, rounds: int | None) -> Int64s:
        """All rows, client by client in the order of arrival.

        Args:
            federation: whose training rows these are.
            arrivals: how many rows arrive in a round; it has begun.
            seed: the same seed draws the same mixtures.
            rounds: of the run; where nobody knows, until all rows have arrived.
        """
        train, groups = federation.train, self.populations(federation)
        rows, owners = np.arange(len(train.y)), train.owners.astype(np.int64)
        part = groups[train.y]
        draws = bits(seed, "mixture rows", rows)
        stacks = rows[np.lexsort((draws, part, owners))]
        counts = np.bincount(owners * self.groups + part, minlength=len(federation) * self.groups)
        counts = counts.reshape(len(federation), self.groups)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)[:-1]]).reshape(counts.shape)
        when, taken, before = np.full(len(rows), np.iinfo(np.int64).max), np.zeros_like(counts), 0
        round, last, arrived = 0, 0, np.zeros(len(federation), np.int64)
        while before < len(rows) and round < (last + LONGEST_WAIT if rounds is None else rounds):
            now = arrivals.arrived(round)
            lots = self._draw(now - arrived, counts - taken, seed, round)
            chosen = np.repeat((starts + taken).ravel(), lots.ravel()) + _within(lots.ravel())
            when[stacks[chosen]] = round
            last = round if len(chosen) else last
            taken, arrived, before = taken + lots, now, int(now.sum())
            round += 1
        return np.lexsort((bits(seed, "mixture order", rows), when, owners))

    def _draw(self, sizes: Int64s, left: Int64s, seed: int, round: int) -> Int64s:
        """How many rows of each population every client receives, of those that it has left."""
        weights = self.weights(len(sizes), seed, round)
        rng = generator(seed, "mixture counts", round)
        lots = np.zeros_like(left)
        while (missing := sizes - lots.sum(axis=1)).any():
            there = left - lots
            chances = np.where(there > 0, weights, 0.0)
            lost = chances.sum(axis=1, keepdims=True) < 1e-12  # what the weights ask for is used up
            chances = np.where(lost, np.maximum(there, 0) + (there.sum(axis=1, keepdims=True) == 0), chances)
            asked = rng.multinomial(missing, chances / chances.sum(axis=1, keepdims=True))
            lots = lots + np.minimum(asked, there)
        return lots


def _within(sizes: Int64s) -> Int64s:
    """0, 1, ... within each of consecutive parts.

    >>> _within(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


@arrival_registry.add("mixture")
def mixture(alpha: float, groups: int, *arrivals: str | float) -> Arrivals:
    """`mixture:0.1,4,constant:6` lets rows arrive as `constant:6` says, of four groups of classes whose
    shares every client draws anew in every round, by Dirichlet(0.1)."""
    if not arrivals or not isinstance(arrivals[0], str):
        raise ConfigError(
            "a changing mixture needs to know how many rows arrive, such as mixture:0.1,4,constant:6."
        )
    inner = arrival_registry.make(",".join(map(str, arrivals)))
    if inner.mixture is not None:
        raise ConfigError("a changing mixture is of other arrivals, such as mixture:0.1,4,constant:6.")
    inner.mixture = ChangingMixture(alpha, groups)
    return inner
