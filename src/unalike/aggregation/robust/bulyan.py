"""Bulyan: uploads that Krum selects, averaged near their coordinate-wise median.

    chosen   = n - 2f changes, taken one after the other by Krum from those that are left
    update_d = mean of the (n - 2f) - 2f values of the chosen ones that are nearest to their median

El Mhamdi, Guerraoui and Rouault, "The Hidden Vulnerability of Distributed Learning in Byzantium", 2018. In
high dimension a selected upload can still be far off in one coordinate; the second step bounds that. It bears
f dishonest uploads among n >= 4f + 3. Each upload has one vote whatever its weight. Towards the end fewer
uploads are left than Krum's neighbors ask for; then the nearest one counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from ..base import aggregator_registry
from .base import RobustRule, Votes, check_whole
from .krum import krum_scores, squared_distances
from .median import masked_median
from .sorting import sort_columns


@aggregator_registry.add("bulyan")
@dataclass(frozen=True)
class Bulyan(RobustRule):
    """Krum's choices, averaged near their median, bears f dishonest uploads of 4f + 3; `bulyan:1`."""

    dishonest: int
    name: ClassVar[str] = "bulyan"

    def __post_init__(self) -> None:
        check_whole("the number of dishonest clients", self.dishonest)

    @property
    def least(self) -> int:
        return 4 * self.dishonest + 3

    @property
    def limit(self) -> str:
        return f"{self.dishonest} dishonest ones take at least 4f + 3 = {self.least}"

    def estimate(self, votes: Votes) -> jax.Array:
        """Without regard to weights."""
        chosen = choose(votes.rows, votes.present, votes.voters - 2 * self.dishonest, self.dishonest)
        return mean_near_median(votes.rows, chosen, votes.voters - 4 * self.dishonest)


def choose(rows: jax.Array, present: jax.Array, many: Any, dishonest: int) -> jax.Array:
    """So many rows, one after the other by Krum from those that are left; 1 for a chosen one."""
    distances = squared_distances(rows)

    def take(i: Any, left: jax.Array) -> jax.Array:
        best = jnp.argmin(krum_scores(distances, left, dishonest))
        return jnp.where(i < many, left.at[best].set(0.0), left)

    left = jax.lax.fori_loop(0, len(rows), take, present)
    return present - left


def mean_near_median(rows: jax.Array, chosen: jax.Array, many: Any) -> jax.Array:
    """The mean of the so many chosen values that are nearest to their median, coordinate by coordinate; of
    values that are equally far, the mean takes the places that are left."""
    here = chosen[:, None] > 0
    gaps = jnp.where(here, jnp.abs(rows - masked_median(rows, chosen)), jnp.inf)
    farthest = sort_columns(gaps)[jnp.maximum(many - 1, 0)]
    nearer, tied = gaps < farthest, here & (gaps == farthest)
    places = many - nearer.sum(0)
    at_edge = jnp.where(tied, rows, 0.0).sum(0) / jnp.maximum(tied.sum(0), 1)
    return (jnp.where(nearer, rows, 0.0).sum(0) + places * at_edge) / jnp.maximum(many, 1)
