"""Centered clipping: limits how far one upload pulls the update.

    v <- v + sum_i w_i (change_i - v) min(1, radius / |change_i - v|)            some times, from v = 0

Karimireddy, He and Jaggi, "Learning from History for Byzantine Robust Optimization", 2021. One upload moves
the result by at most its share of the weight times the radius times the iterations. Weights count as in the
mean, so they must not be lies. It begins where clients began, at no change at all: the last model is what the
server trusts. With a radius larger than any change it is the weighted mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from ...errors import ConfigError
from ..base import aggregator_registry
from .base import RobustRule, Votes, check_whole
from .geometric_median import distances_to


@aggregator_registry.add("centered-clipping")
@dataclass(frozen=True)
class CenteredClipping(RobustRule):
    """The mean of changes that are clipped around it, so that each pulls at most so far;
    `centered-clipping:1,3`."""

    radius: float = 1.0
    iterations: int = 3
    name: ClassVar[str] = "centered-clipping"

    def __post_init__(self) -> None:
        check_whole("the number of iterations", self.iterations, 1)
        if not 0 < self.radius < float("inf"):
            raise ConfigError(f"the radius of centered-clipping must be above 0, but is {self.radius:g}.")

    def estimate(self, votes: Votes) -> jax.Array:
        """By the weights of uploads."""

        def step(_: Any, center: jax.Array) -> jax.Array:
            length = jnp.maximum(distances_to(center, votes.rows), 1e-30)
            pull = votes.shares * jnp.minimum(1.0, self.radius / length)
            return center + pull @ votes.rows - pull.sum() * center

        return jax.lax.fori_loop(0, self.iterations, step, jnp.zeros_like(votes.rows[0]))
