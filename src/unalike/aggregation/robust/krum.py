"""Krum and multi-Krum: the uploads closest to their neighbors.

    score_i = sum of squared distances from change_i to its n - f - 2 nearest others
    krum    = the change of lowest score          multi-krum = the mean of the m changes of lowest score

Blanchard, El Mhamdi, Guerraoui and Stainer, "Machine Learning with Adversaries: Byzantine Tolerant Gradient
Descent", 2017. It bears f dishonest uploads among n >= 2f + 3. Each upload has one vote whatever its weight;
of equal scores the first wins. Distances are taken over all parameters together, so where an upload has parts
of other scales (SCAFFOLD's control variates), the larger part decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from ...errors import ConfigError
from ..base import aggregator_registry
from .base import RobustRule, Votes, check_whole


@aggregator_registry.add("multi-krum")
@dataclass(frozen=True)
class MultiKrum(RobustRule):
    """The mean of the m changes with the closest company, bears f dishonest uploads of 2f + 3;
    `multi-krum:1,3`."""

    dishonest: int
    chosen: int
    name: ClassVar[str] = "multi-krum"

    def __post_init__(self) -> None:
        check_whole("the number of dishonest clients", self.dishonest)
        check_whole("the number of chosen uploads", self.chosen, 1)

    @property
    def least(self) -> int:
        return max(2 * self.dishonest + 3, self.dishonest + self.chosen)

    @property
    def limit(self) -> str:
        f, m = self.dishonest, self.chosen
        return f"{f} dishonest ones take at least 2f + 3 = {2 * f + 3}, and {m} chosen ones at least {f + m}"

    def estimate(self, votes: Votes) -> jax.Array:
        """Without regard to weights."""
        scores = krum_scores(squared_distances(votes.rows), votes.present, self.dishonest)
        order = jnp.argsort(scores, stable=True)[: self.chosen]
        return votes.rows[order].mean(0)


@aggregator_registry.add("krum")
def krum(dishonest: int) -> Krum:
    """The one change with the closest company, bears f dishonest uploads of 2f + 3; `krum:1`."""
    return Krum(dishonest)


@dataclass(frozen=True)
class Krum(MultiKrum):
    """Multi-Krum that chooses one."""

    chosen: int = 1
    name: ClassVar[str] = "krum"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chosen != 1:
            raise ConfigError("krum chooses one upload; multi-krum chooses several.")

    @property
    def limit(self) -> str:
        return f"{self.dishonest} dishonest ones take at least 2f + 3 = {self.least}"


def squared_distances(rows: jax.Array) -> jax.Array:
    """Between all pairs of rows, from their differences: exact zeros for equal rows, and no overflow between
    honest ones because of one that is huge."""
    return jax.lax.map(lambda row: jnp.square(rows - row).sum(1), rows)


def krum_scores(distances: jax.Array, present: jax.Array, dishonest: int) -> jax.Array:
    """How far each row's nearest others are; infinite for those that are not present.

    At least one neighbor counts, so that scores tell rows apart when few are left.
    """
    count = present.sum().astype(jnp.int32)
    others = neighbor_distances(distances, present)
    rank = jnp.arange(len(distances))
    kept = rank < jnp.maximum(count - dishonest - 2, 1)
    scores = jnp.where(kept, jnp.sort(others, axis=1), 0.0).sum(1)
    return jnp.where(present > 0, scores, jnp.inf)


def neighbor_distances(distances: jax.Array, present: Any) -> jax.Array:
    """Distances to the others that are present; infinite to oneself and to those that are not."""
    count = len(distances)
    hidden = jnp.eye(count, dtype=bool) | (present[None, :] <= 0)
    return jnp.where(hidden, jnp.inf, distances)
