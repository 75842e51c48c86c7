"""Optimal client sampling: independent coins that minimize the variance of the aggregate.

Independent coins with probabilities q_i and weights p_i / q_i are unbiased whatever the q_i; those that
minimize the variance follow from the norms of all clients' updates (Chen, Horvath and Richtarik, "Optimal
Client Sampling for Federated Learning", 2022). A round may be empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...typing import Float64s
from ..base import Cohort, RoundContext
from .base import SizedSampler, sampler_registry
from .statistics import WeightStatistics, coin_statistics

SMALLEST = 1e-6
"""The least probability of a client whose update is zero, so that it can be heard again."""


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
