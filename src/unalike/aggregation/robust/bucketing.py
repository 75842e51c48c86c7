"""Bucketing, also called s-resampling: uploads are averaged in small groups first.

    shuffle the uploads;  change of a bucket = weighted mean of s uploads in a row;  then any rule on buckets

Karimireddy, He and Jaggi, "Byzantine-Robust Learning on Heterogeneous Datasets via Bucketing", 2022. Means of
s differ s times less in variance, so that honest ones look alike; in return one dishonest upload spoils a
whole bucket, so the rule behind it must bear as many of ceil(n / s). Within a bucket uploads count by their
weights, and a bucket weighs what its uploads weigh: with the mean behind it, nothing changes. The shuffle
follows from the seed and the round.
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


@dataclass(frozen=True)
class Bucketing(RobustRule):
    """A rule on the means of small groups."""

    size: int
    rule: RobustRule
    needs: ClassVar[AggregatorNeeds] = RobustRule.needs | AggregatorNeeds(key=True)
    name: ClassVar[str] = "bucketing"

    def __post_init__(self) -> None:
        check_whole("the size of a bucket", self.size, 1)

    @property
    def least(self) -> int:
        return (self.rule.least - 1) * self.size + 1

    @property
    def limit(self) -> str:
        return f"{self.rule.name} needs {self.rule.least} buckets of {self.size}, so at least {self.least}"

    def estimate(self, votes: Votes) -> jax.Array:
        key, later = jax.random.split(votes.key)
        return self.rule.estimate(fill_buckets(votes, self.size, key)._replace(key=later))


@aggregator_registry.add("bucketing")
def bucketing(size: int, *rule: Argument) -> Bucketing:
    """Means of small shuffled groups before any rule, which follows after a comma; `bucketing:2,median`."""
    return Bucketing(size, rule_of(f"bucketing:{size}", rule))


def fill_buckets(votes: Votes, size: int, key: jax.Array) -> Votes:
    """The uploads that count in random order, so many to a bucket; what is left over is a smaller one."""
    clients = len(votes.rows)
    draws = jnp.where(votes.present > 0, jax.random.uniform(key, (clients,)), 2.0)
    bucket = jnp.argsort(jnp.argsort(draws)) // size
    member = jax.nn.one_hot(bucket, -(-clients // size), dtype=votes.rows.dtype).T
    weights = member @ jnp.where(votes.present > 0, votes.weights, 0.0)
    rows = (member * (votes.present * votes.weights)) @ votes.rows
    rows = jnp.nan_to_num(rows / jnp.where(weights != 0, weights, 1.0)[:, None])  # sums may overflow
    return Votes(rows, (member @ votes.present > 0).astype(votes.rows.dtype), weights)
