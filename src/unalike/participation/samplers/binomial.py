"""Binomial sampling: every client is drawn independently, all with the same probability.

Independent coins with probabilities q_i = m/n and weights p_i / q_i are unbiased. A round may be empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...typing import Float64s
from ..base import Cohort
from .base import SizedSampler, sampler_registry
from .statistics import WeightStatistics, coin_statistics


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
