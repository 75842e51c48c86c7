"""Coordinate-wise median.

    update_d = median_i change_{i, d}

Yin, Chen, Kannan and Bartlett, "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates",
2018. Every coordinate lies between honest values as long as fewer than half of the uploads are dishonest:
2f < n. Each upload has one vote whatever its weight, for a dishonest client may claim any number of rows; the
median of an even number is the mean of the two in the middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from ..base import aggregator_registry
from .base import RobustRule, Votes, check_whole
from .sorting import sort_columns


@aggregator_registry.add("median")
@dataclass(frozen=True)
class Median(RobustRule):
    """The middle of all changes, coordinate by coordinate, bears fewer than half of the uploads; `median`."""

    dishonest: int = 0
    """How many uploads may be lies, for the check of cohorts; the rule itself does not depend on it."""
    name: ClassVar[str] = "median"

    def __post_init__(self) -> None:
        check_whole("the number of dishonest clients", self.dishonest)

    @property
    def least(self) -> int:
        return 2 * self.dishonest + 1

    @property
    def limit(self) -> str:
        return f"{self.dishonest} dishonest ones take at least 2f + 1 = {self.least}"

    def estimate(self, votes: Votes) -> jax.Array:
        """Without regard to weights."""
        return masked_median(votes.rows, votes.present)


def masked_median(rows: jax.Array, present: jax.Array) -> jax.Array:
    """The median of the rows that are present, coordinate by coordinate; zeros where none is.

    >>> masked_median(jnp.array([[1.0], [9.0], [3.0]]), jnp.array([1, 0, 1])).tolist()
    [2.0]
    """
    ordered = sort_present(rows, present)
    count = present.sum().astype(jnp.int32)
    lower, upper = jnp.maximum(count - 1, 0) // 2, count // 2
    middle = ordered[lower] / 2 + ordered[jnp.minimum(upper, rows.shape[0] - 1)] / 2
    return jnp.where(count > 0, middle, 0.0)


def sort_present(rows: jax.Array, present: jax.Array) -> jax.Array:
    """Each column in ascending order, rows that are not present last, as infinities."""
    return sort_columns(jnp.where(present[:, None] > 0, rows, jnp.inf))
