"""Uniform sampling without replacement, and the weights of drawn clients.

Uniform draws without replacement, m of n clients. Weights (n / m) p_i are right on average, but sum to one
only if all importances are equal; the FedAvg of McMahan et al. (2017) leaves the weight of absent clients on
the old model, and common practice shares it among the present ones, which is biased wherever importances
differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...typing import ClientIds, Float64s
from ..base import Cohort
from .base import Sampler, SizedSampler, count_draws, sampler_registry
from .renormalized import renormalized_statistics
from .statistics import MOST_PAIRS, WeightStatistics, distinct_variance


@sampler_registry.add("full")
@dataclass(frozen=True)
class Full(Sampler):
    """Every client, every round, weighted by importance."""

    @property
    def everyone(self) -> bool:
        return True

    def draw(self, importance: Float64s, rng: np.random.Generator) -> Cohort:
        return Cohort(np.arange(len(importance)), importance)

    def statistics(self, importance: Float64s) -> WeightStatistics:
        zeros, ones = np.zeros(len(importance)), np.ones(len(importance))
        return WeightStatistics(importance, importance, zeros, ones, 0.0, alpha=0.0, clients_variance=0.0)


@sampler_registry.add("uniform")
@dataclass(frozen=True, kw_only=True)
class Uniform(SizedSampler):
    """Uniformly without replacement; weights n/m * importance, unbiased, not summing to one."""

    def draw(self, importance: Float64s, rng: np.random.Generator) -> Cohort:
        clients = without_replacement(len(importance), self.per_round, rng)
        weights = importance[clients] * (len(importance) / len(clients))
        return Cohort(clients[weights > 0], weights[weights > 0])

    def statistics(self, importance: Float64s) -> WeightStatistics:
        n, m = len(importance), min(self.per_round, len(importance))
        alpha = (n - m) / (m * (n - 1)) if n > 1 else 0.0
        squares, counted = float(importance @ importance), importance > 0
        share = counted.mean()
        return WeightStatistics(
            importance,
            importance,
            (n / m - 1) * importance**2,
            np.where(counted, m / n, 0.0),
            max(alpha * (n * squares - 1), 0.0),
            alpha=alpha,
            clients_variance=float(m**2 * share * (1 - share) * alpha),  # hypergeometric
        )


@sampler_registry.add("uniform-with-replacement")
@dataclass(frozen=True, kw_only=True)
class UniformWithReplacement(SizedSampler):
    """Uniformly with replacement; weights count * n/m * importance, unbiased, not summing to one."""

    def draw(self, importance: Float64s, rng: np.random.Generator) -> Cohort:
        n, m = len(importance), self.per_round
        clients, counts, _ = count_draws(rng.integers(n, size=m), n / m)
        weights = counts * importance[clients]
        return Cohort(clients[weights > 0], weights[weights > 0])

    def statistics(self, importance: Float64s) -> WeightStatistics:
        n, m = len(importance), self.per_round
        squares = float(importance @ importance)
        drawn = int((importance > 0).sum())
        absent = np.full(drawn, (1 - 1 / n) ** m)
        together = np.full((drawn, drawn), max(1 - 2 / n, 0.0) ** m) if n <= MOST_PAIRS else None
        return WeightStatistics(
            importance,
            importance,
            (n - 1) / m * importance**2,
            np.where(importance > 0, 1 - (1 - 1 / n) ** m, 0.0),
            max((n * squares - 1) / m, 0.0),
            alpha=1 / m,
            clients_variance=None if together is None else distinct_variance(absent, together),
        )


@sampler_registry.add("fedavg-original")
@dataclass(frozen=True, kw_only=True)
class OriginalFedAvg(SizedSampler):
    """Uniformly without replacement; absent clients count as the old model, so steps are m/n as long."""

    def draw(self, importance: Float64s, rng: np.random.Generator) -> Cohort:
        clients = without_replacement(len(importance), self.per_round, rng)
        return Cohort(clients, importance[clients])

    def statistics(self, importance: Float64s) -> WeightStatistics:
        n, m = len(importance), min(self.per_round, len(importance))
        share = m / n
        unbiased = Uniform(per_round=m).statistics(importance)
        return WeightStatistics(
            importance,
            share * importance,
            share * (1 - share) * importance**2,
            np.full(n, share),
            share**2 * unbiased.variance_of_sum,
            pairwise=lambda: share**2 * unbiased.covariance(),
            clients_variance=0.0,
        )


@sampler_registry.add("fedavg-renormalized")
@dataclass(frozen=True, kw_only=True)
class Renormalized(SizedSampler):
    """Uniformly without replacement; weights by importance within the cohort (the usual, biased practice)."""

    def draw(self, importance: Float64s, rng: np.random.Generator) -> Cohort:
        clients = without_replacement(len(importance), self.per_round, rng)
        weights = importance[clients]
        if weights.sum() == 0:
            return Cohort(clients[:0], weights[:0])
        return Cohort(clients, weights / weights.sum())

    def statistics(self, importance: Float64s) -> WeightStatistics:
        """Mean and variance by quadrature, to about ten digits; covariances have no closed form."""
        return renormalized_statistics(importance, min(self.per_round, len(importance)))


def without_replacement(clients: int, count: int, rng: np.random.Generator) -> ClientIds:
    """Distinct clients, in increasing order; all of them if there are not so many."""
    return np.sort(rng.choice(clients, min(count, clients), replace=False)).astype(np.int64)
