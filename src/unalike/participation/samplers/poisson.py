"""Poisson sampling: every client is drawn independently, in proportion to its importance.

Independent coins with probabilities q_i and weights p_i / q_i are unbiased whatever the q_i; Poisson sampling
takes q_i = m p_i (the number of clients is Poisson-binomial). A round may be empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...errors import ConfigError
from ...typing import ClientIds, Float64s
from ..base import Cohort, RoundContext
from .base import Once, SizedSampler, sampler_registry
from .statistics import WeightStatistics, coin_statistics


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
