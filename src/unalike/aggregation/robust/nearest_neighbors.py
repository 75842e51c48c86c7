"""Nearest-neighbor mixing (NNM): each upload is averaged with its neighbors first.

    change_i  ->  mean of the n - f changes that are nearest to it, its own among them;  then any rule

Allouah, Farhadkhani, Guerraoui, Gupta, Pinot and Stephan, "Fixing by Mixing: A Recipe for Optimal Byzantine
ML under Heterogeneity", 2023. Clients with other data send other updates, which rules mistake for lies;
mixing brings honest uploads together first. It bears f dishonest uploads among n > 2f, or fewer if the rule
behind it does. Neighbors count alike, whatever their weights; each mixed change keeps its own client's
weight for the rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from ...core.spec import Argument
from ..base import aggregator_registry
from ..needs import AggregatorNeeds
from .base import RobustRule, Votes, check_whole, rule_of
from .krum import squared_distances


@dataclass(frozen=True)
class NearestNeighborMixing(RobustRule):
    """A rule on changes that are mixed with their nearest neighbors."""

    dishonest: int
    rule: RobustRule
    name: ClassVar[str] = "nnm"

    def __post_init__(self) -> None:
        check_whole("the number of dishonest clients", self.dishonest)

    @property
    def needs(self) -> AggregatorNeeds:  # type: ignore[override]
        """Those of the rule behind it."""
        return self.rule.needs

    @property
    def least(self) -> int:
        return max(2 * self.dishonest + 1, self.rule.least)

    @property
    def limit(self) -> str:
        own = f"{self.dishonest} dishonest ones take at least 2f + 1 = {2 * self.dishonest + 1}"
        return f"{own}; for {self.rule.name}, {self.rule.limit}"

    def estimate(self, votes: Votes) -> jax.Array:
        return self.rule.estimate(votes._replace(rows=mix_neighbors(votes, self.dishonest)))


@aggregator_registry.add("nnm")
def nnm(dishonest: int, *rule: Argument) -> NearestNeighborMixing:
    """Nearest-neighbor mixing before any rule, which follows after a comma; `nnm:1,trimmed-mean:0.2`."""
    return NearestNeighborMixing(dishonest, rule_of(f"nnm:{dishonest}", rule))


def mix_neighbors(votes: Votes, dishonest: int) -> jax.Array:
    """Each row as the mean of its nearest ones, all but `dishonest` of those that are present."""
    many = jnp.maximum(votes.voters - dishonest, 1)
    distances = jnp.where(votes.present[None, :] > 0, squared_distances(votes.rows), jnp.inf)
    order = jnp.argsort(distances, axis=1, stable=True)
    rank = jnp.argsort(order, axis=1, stable=True)
    near = ((rank < many) & (votes.present[None, :] > 0)).astype(votes.rows.dtype)
    return near @ votes.rows / jnp.maximum(near.sum(1), 1.0)[:, None]
