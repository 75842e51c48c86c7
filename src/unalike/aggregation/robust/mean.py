"""Weighted mean: no robustness; for use behind a pre-aggregation.

    update = sum_i w_i change_i / sum_i w_i

One dishonest upload moves it as far as it likes, behind nearest-neighbor mixing and bucketing too; it is
here to compare with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax

from ..base import aggregator_registry
from .base import RobustRule, Votes


@aggregator_registry.add("mean")
@dataclass(frozen=True)
class Mean(RobustRule):
    """The weighted mean of all changes, which bears no lie: a rule to compare others with."""

    name: ClassVar[str] = "mean"

    def estimate(self, votes: Votes) -> jax.Array:
        """By the weights of uploads."""
        return votes.shares @ votes.rows
