"""Client losses under unequal weights: the measured constants of availability bounds.

Training with clients that come and go minimizes F_B = sum_k p_k F_k instead of F = sum_k alpha_k F_k. Here
both are minimized (L-BFGS), and so is every client's F_k, so that the bias F(w_B*) - F(w*) and the gaps

    Gamma = max_k F_k(w*) - F_k*,      Gamma' = max_k F_k(w_B*) - F_k*

are measured, not bounded. Gradients and losses are looked at where training passes and at all these optima.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data import Federation
from ..errors import ConfigError
from ..models import Task
from ..typing import Float64s
from .client_losses import ClientLosses, ProbeSettings, models_along_training
from .measure_constants import is_convex, smoothness_bound


class BiasedOptimum(NamedTuple):
    """Where training goes when clients count p, and what that costs."""

    model: Float64s
    bias: float
    """F(w_B*) - F(w*)."""
    gap: float
    """Gamma'."""


@dataclass(frozen=True)
class LossFacts:
    """What was measured of the clients' losses."""

    losses: ClientLosses
    visited: list[Float64s]
    """The first model, and some on the way of a short training."""
    optimum: Float64s
    least: float
    minima: Float64s
    """Each client's least loss."""
    noise: Float64s
    """sigma_k^2, the variance of each client's mini-batch gradients, the largest that was seen."""
    smoothness: float
    convexity: float

    @property
    def importance(self) -> Float64s:
        """alpha."""
        return self.losses.share

    @property
    def gap(self) -> float:
        """Gamma."""
        return self._gap(self.optimum)

    def values(self, model: Float64s) -> Float64s:
        """Each client's loss."""
        return np.array([self.losses.value(model, i) for i in range(len(self.minima))])

    def optimum_of(self, share: Float64s) -> BiasedOptimum:
        """The optimum if clients counted so much."""
        if np.abs(share - self.importance).max() < 1e-12:
            return BiasedOptimum(self.optimum, 0.0, self.gap)
        model, _ = self.losses.minimize_mixture(share)
        bias = max(self.losses.value(model, None) - self.least, 0.0)
        return BiasedOptimum(model, bias, self._gap(model))

    def steepest(self, models: Sequence[Float64s]) -> float:
        """D: the longest gradient of any client at these models."""
        clients = range(len(self.minima))
        return max(float(np.linalg.norm(self.losses.gradient(w, i))) for w in models for i in clients)

    def spread(self, models: Sequence[Float64s], center: Float64s) -> float:
        """H: how much any client's loss at these models differs from that at another."""
        there = self.values(center)
        return max(float(np.abs(self.values(w) - there).max()) for w in models)

    def diameter(self, models: Sequence[Float64s]) -> float:
        """Of the smallest ball around the optimum that holds these models."""
        return 2 * max(float(np.linalg.norm(w - self.optimum)) for w in models)

    def _gap(self, model: Float64s) -> float:
        return max(float((self.values(model) - self.minima).max()), 0.0)


def measure_losses(federation: Federation, task: Task, look: ProbeSettings, seed: int = 0) -> LossFacts:
    """What the bounds of availability need to know of clients with rows, each of whom counts."""
    bound = smoothness_bound(federation, task)
    if bound is None or not is_convex(task):
        raise ConfigError(
            "the bounds of availability are of convex losses; measure a classification with --model linear."
        )
    losses, clients = ClientLosses(federation, task, seed), range(len(federation))
    visited = [losses.start, *models_along_training(federation, task, look, seed)]
    optimum, least = losses.minimize(None)
    noise = [[losses.noise(w, i, look, seed)[0] for i in clients] for w in visited]
    minima = np.array([losses.minimize(i)[1] for i in clients])
    return LossFacts(losses, visited, optimum, least, minima, np.max(noise, axis=0), bound, task.l2)
