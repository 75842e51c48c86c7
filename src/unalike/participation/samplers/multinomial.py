"""Multinomial sampling (MD): clients are drawn in proportion to their importance.

m independent draws with P(i) = p_i, weights count_i / m: unbiased, and they always sum to one, so that no
importances can make training diverge (Li et al., "Federated Optimization in Heterogeneous Networks", 2020).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...typing import Float64s
from ..base import Cohort
from .base import Once, SizedSampler, count_draws, sampler_registry
from .statistics import MOST_PAIRS, WeightStatistics, distinct_variance


@sampler_registry.add("md")
@dataclass(frozen=True, kw_only=True)
class Multinomial(SizedSampler):
    """In proportion to importance, with replacement; weights count/m, unbiased, summing to one."""

    _cumulative: Once[Float64s] = field(default_factory=lambda: Once(np.cumsum), repr=False, compare=False)

    def draw(self, importance: Float64s, rng: np.random.Generator) -> Cohort:
        cumulative = self._cumulative(importance)
        points = rng.random(self.per_round) * cumulative[-1]
        return count_draws(np.searchsorted(cumulative, points, side="right"), 1 / self.per_round)

    def statistics(self, importance: Float64s) -> WeightStatistics:
        p, m = importance, self.per_round
        absent = (1 - p) ** m
        few = len(p) <= MOST_PAIRS
        together = np.maximum(1 - p[:, None] - p[None, :], 0) ** m if few else None
        return WeightStatistics(
            p,
            p,
            p * (1 - p) / m,
            1 - absent,
            0.0,
            alpha=1 / m,
            clients_variance=None if together is None else distinct_variance(absent, together),
        )
