"""Coordinate-wise trimmed mean.

    update_d = mean of change_{i, d} without the b n smallest and the b n largest

Yin, Chen, Kannan and Bartlett, "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates",
2018. It bears f dishonest uploads as long as f <= floor(b n), so b below one half. The number cut off follows
the uploads that count in a step. Each upload has one vote whatever its weight: a weighted mean of what is
left would let a dishonest client that claims many rows decide within the honest range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ...aggregation.base import aggregator_registry
from ...errors import ConfigError
from .base import RobustRule, Votes
from .median import sort_present


@aggregator_registry.add("trimmed-mean")
@dataclass(frozen=True)
class TrimmedMean(RobustRule):
    """The mean without a share of the smallest and of the largest values of each coordinate;
    `trimmed-mean:0.1`."""

    share: float = 0.1
    """Of the uploads, cut off at each end."""
    name: ClassVar[str] = "trimmed-mean"

    def __post_init__(self) -> None:
        if not 0 <= self.share < 0.5:
            raise ConfigError(
                "trimmed-mean cuts the same share off at both ends, which must be at least 0 and below 0.5, "
                f"but is {self.share:g}."
            )

    def estimate(self, votes: Votes) -> jax.Array:
        """Without regard to weights."""
        rows, count = sort_present(votes.rows, votes.present), votes.voters
        cut = jnp.asarray(count_trimmed(self.share, rows.shape[0]))[count]
        rank = jnp.arange(rows.shape[0])[:, None]
        kept = (rank >= cut) & (rank < count - cut)
        return jnp.where(kept, rows, 0.0).sum(0) / jnp.maximum(count - 2 * cut, 1)


def count_trimmed(share: float, most: int) -> np.ndarray:
    """How many values are cut off at each end of 0, 1, ..., `most` of them.

    >>> count_trimmed(0.1, 10).tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    """
    return np.floor(share * np.arange(most + 1) + 1e-9).astype(np.int32)
