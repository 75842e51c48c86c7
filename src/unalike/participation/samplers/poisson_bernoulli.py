"""Poisson and Bernoulli sampling: every client is drawn independently.

Independent coins with probabilities q_i and weights p_i / q_i are unbiased whatever the q_i. With q_i = m/n
that is binomial, with q_i = m p_i Poisson-binomial sampling; the q_i that minimize the variance of the
aggregate follow from the norms of all clients' updates (Chen, Horvath and Richtarik, "Optimal Client Sampling
for Federated Learning", 2022). A round may be empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...errors import ConfigError
from ...typing import ClientIds, Float64s
from ..base import Cohort, RoundContext
from .base import Once, SizedSampler, sampler_registry
from .statistics import WeightStatistics

SMALLEST = 1e-6
"""The least probability of a client whose update is zero, so that it can be heard again."""


class BernoulliDraws:
    """Unequal coins that are tossed in time proportional to the number of heads.

    Clients are put into drawers of probabilities between 2^-(k+1) and 2^-k. A drawer's candidates are a
    binomial number of its clients at 2^-k, and each candidate stays with the rest of its probability, at
    least one half.
    """

    def __init__(self, probabilities: Float64s) -> None:
        self.probabilities = probabilities
        with np.errstate(divide="ignore"):
            drawer = np.floor(-np.log2(probabilities))
        self._drawers: list[tuple[float, ClientIds]] = []
        for k in np.unique(drawer[np.isfinite(drawer)]):
            self._drawers.append((2.0**-k, np.flatnonzero(drawer == k)))

    def toss(self, rng: np.random.Generator) -> ClientIds:
        """The clients whose coins show heads, in increasing order."""
        heads = [self._open(ceiling, clients, rng) for ceiling, clients in self._drawers]
        return np.sort(np.concatenate([np.zeros(0, np.int64), *heads]))

    def _open(self, ceiling: float, clients: ClientIds, rng: np.random.Generator) -> ClientIds:
        count = rng.binomial(len(clients), ceiling)
        candidates = clients[rng.choice(len(clients), count, replace=False)]
        return candidates[rng.random(count) * ceiling < self.probabilities[candidates]]


def coin_statistics(importance: Float64s, probabilities: Float64s) -> WeightStatistics:
    """The moments of weights p_i / q_i times independent coins q_i."""
    q = np.where(importance > 0, probabilities, 1.0)
    variance = importance**2 * (1 - q) / q
    inclusion = np.where(importance > 0, probabilities, 0.0)
    return WeightStatistics(
        importance,
        importance,
        variance,
        inclusion,
        float(variance.sum()),
        alpha=0.0,
        clients_variance=float((inclusion * (1 - inclusion)).sum()),
    )


@sampler_registry.add("binomial")
@dataclass(frozen=True, kw_only=True)
class Binomial(SizedSampler):
    """Independent coins m/n, weights n/m * importance; unbiased, a round may be empty."""

    def draw(self, importance: Float64s, rng: np.random.Generator) -> Cohort:
        n = len(importance)
        chance = min(self.per_round / n, 1.0)
        clients = np.sort(rng.choice(n, rng.binomial(n, chance), replace=False))
        clients = clients[importance[clients] > 0]
        return Cohort(clients, importance[clients] / chance)

    def statistics(self, importance: Float64s) -> WeightStatistics:
        n = len(importance)
        return coin_statistics(importance, np.full(n, min(self.per_round / n, 1.0)))


@sampler_registry.add("poisson")
@dataclass(frozen=True, kw_only=True)
class Poisson(SizedSampler):
    """Independent coins m * importance, weights 1/m; unbiased, a round may be empty; needs m <= 1/max(p)."""

    _coins: Once[BernoulliDraws] = field(
        default_factory=lambda: Once(BernoulliDraws), repr=False, compare=False
    )
    _chances: Once[Float64s] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_chances", Once(self.chances))

    def chances(self, importance: Float64s) -> Float64s:
        """m p_i, if none of them exceeds one."""
        largest = float(importance.max())
        if self.per_round * largest > 1 + 1e-12:
            raise ConfigError(
                f"Poisson sampling of {self.per_round} clients needs no importance above 1/{self.per_round}, "
                f"but the largest is {largest:.4g}; draw at most {int(1 / largest)}, or use md or "
                "clustered-size."
            )
        return np.minimum(self.per_round * importance, 1.0)

    def draw(self, importance: Float64s, rng: np.random.Generator) -> Cohort:
        clients = self._coins(self._chances(importance)).toss(rng)
        return Cohort(clients, np.full(len(clients), 1 / self.per_round))

    def cohort(self, turn: RoundContext) -> Cohort:
        if turn.chosen_from is None:
            return self.draw(turn.importance, turn.rng)
        # Among the few that are there, one may be too important for a coin: it comes with certainty.
        chances = np.minimum(self.per_round * turn.importance, 1.0)
        clients = BernoulliDraws(chances).toss(turn.rng)
        return Cohort(clients, turn.importance[clients] / chances[clients])

    def statistics(self, importance: Float64s) -> WeightStatistics:
        return coin_statistics(importance, self.chances(importance))


@sampler_registry.add("optimal")
@dataclass(frozen=True, kw_only=True)
class Optimal(SizedSampler):
    """Coins that favor large updates and minimize the variance; every client computes, some upload."""

    asks = ("update_norm",)

    def cohort(self, turn: RoundContext) -> Cohort:
        lengths = turn.importance * turn.ask("update_norm", turn.clients)
        chances = optimal_probabilities(lengths, self.per_round)
        chances[~np.isfinite(lengths)] = 0.0  # nothing that this client would send can be used
        clients = np.flatnonzero((turn.rng.random(len(chances)) < chances) & (turn.importance > 0))
        return Cohort(clients, turn.importance[clients] / chances[clients])

    def statistics(self, importance: Float64s, norms: Float64s | None = None) -> WeightStatistics:
        """The moments for given norms of the clients' updates (equal ones, when not given)."""
        lengths = importance * (1.0 if norms is None else norms)
        return coin_statistics(importance, optimal_probabilities(lengths, self.per_round))


def optimal_probabilities(lengths: Float64s, per_round: int) -> Float64s:
    """The coins q with sum m that minimize sum_i u_i^2 (1 - q_i) / q_i for the lengths u_i.

    >>> optimal_probabilities(np.array([1.0, 1.0, 8.0]), 2)
    array([0.5, 0.5, 1. ])
    """
    n, m = len(lengths), min(per_round, len(lengths))
    u = np.nan_to_num(lengths, nan=0.0, posinf=0.0)
    order = np.argsort(u, kind="stable")
    ascending = u[order]
    sums, places = np.cumsum(ascending), np.arange(1, n + 1)
    room = m + places - n  # how many of the m uploads the l smallest may share
    fits = (room > 0) & (room * ascending <= sums * (1 + 1e-12))
    if ascending[-1] == 0:
        return np.full(n, m / n)
    smallest = int(places[fits].max())
    chances = np.ones(n)
    total = sums[smallest - 1]
    share = ascending[:smallest] / total if total > 0 else 1 / smallest
    chances[order[:smallest]] = room[smallest - 1] * share
    return np.clip(chances, SMALLEST, 1.0)
