"""Geometric median, by smoothed Weiszfeld steps (RFA).

    update = argmin_v sum_i w_i |change_i - v|            v <- sum_i b_i change_i / sum_i b_i
    b_i    = w_i / max(|change_i - v|, smoothing)

Pillutla, Kakade and Harchaoui, "Robust Aggregation for Federated Learning", 2022. It bears dishonest uploads
that hold less than half of the weight: weights count as in the mean, so they must not be lies (with equal
importances, each upload has one vote). The steps begin at the coordinate-wise median rather than at the mean,
which one huge upload would take far away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from ...errors import ConfigError
from ..base import aggregator_registry
from .base import RobustRule, Votes, check_whole
from .median import masked_median


@aggregator_registry.add("geometric-median")
@dataclass(frozen=True)
class GeometricMedian(RobustRule):
    """The point with the shortest way to all changes, bears less than half of the weight;
    `geometric-median`."""

    iterations: int = 32
    smoothing: float = 1e-6
    name: ClassVar[str] = "geometric-median"

    def __post_init__(self) -> None:
        check_whole("the number of iterations", self.iterations, 1)
        if not 0 < self.smoothing < float("inf"):
            raise ConfigError(f"the smoothing must be above 0, but is {self.smoothing:g}.")

    def estimate(self, votes: Votes) -> jax.Array:
        """By the weights of uploads."""

        def step(_: Any, center: jax.Array) -> jax.Array:
            pull = votes.shares / jnp.maximum(distances_to(center, votes.rows), self.smoothing)
            total = pull.sum()
            return jnp.where(total > 0, pull @ votes.rows / jnp.where(total > 0, total, 1.0), center)

        return jax.lax.fori_loop(0, self.iterations, step, masked_median(votes.rows, votes.present))


def distances_to(center: jax.Array, rows: jax.Array) -> jax.Array:
    """How far each row is from a point."""
    return jnp.linalg.norm(rows - center, axis=1)
