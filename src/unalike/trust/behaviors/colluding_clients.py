"""Colluding clients: an aggregator around an aggregator.

Lies that need to know what honest clients send are made up where all uploads are: at the server, before its
own rule sees them. It is a simulation of an attacker that knows everything, the worst case of the papers.

    changes c_1 ... c_n  ->  behavior(c)_1 ... behavior(c)_n  ->  the server's rule, as if nothing had
                                                                    happened
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from ...aggregation.base import Aggregator, Combined, Uploads, check_changes
from ...aggregation.needs import AggregatorNeeds
from ...aggregation.wrapper import AggregatorWrapper
from ...algorithms import Algorithm, Reply
from ...core import pytrees
from ...errors import ConfigError
from ...participation import Participation
from ...typing import Message, Upload
from .base import Behavior


@dataclass(frozen=True)
class ColludingClients(AggregatorWrapper):
    """The server's rule, when some clients (`who`, their numbers) agree upon what they send."""

    rule: Aggregator
    behavior: Behavior
    who: tuple[int, ...]

    adds: ClassVar[AggregatorNeeds] = AggregatorNeeds(combine=True)

    def check(self, method: Algorithm, who: Participation, message: Message, reply: Reply) -> None:
        if self.rule.needs.finish:
            raise ConfigError(
                f"{type(self.rule).__name__} works on the sum of uploads, but colluding clients are "
                "simulated on single ones; choose another aggregator, or a behavior such as sign-flip."
            )
        check_changes("a lie of several clients", message, reply.upload)
        super().check(method, who, message, reply)

    def combine(self, uploads: Uploads) -> Combined:
        told, report = self.with_lies(uploads)
        combined = super().combine(told)
        report = {**report, **combined.report}  # of the lies, in place of what was said of the true uploads
        if combined.update is not None:
            return combined._replace(report=report)
        weights = uploads.weight if combined.weights is None else combined.weights
        # The server would mix the true uploads by these weights.
        return combined._replace(weights=None, update=mean_change(told, weights), report=report)

    def with_lies(self, uploads: Uploads) -> tuple[Uploads, Mapping[str, jax.Array]]:
        """The uploads as the server receives them, each by itself like any other, and what it reports of
        them."""
        lying = jnp.isin(uploads.client, jnp.asarray(self.who)) * (uploads.accepted > 0)
        honest = (uploads.accepted > 0) & ~lying.astype(bool)
        changes = self.behavior.change_uploads(
            uploads.changes(), honest.astype(jnp.float32), lying.astype(jnp.float32)
        )
        assert uploads.start is not None
        lies = pytrees.add(uploads.start, changes)
        sent = jax.tree.map(lambda a, b: _pick(lying, a, b), lies, uploads.upload)
        received = jax.vmap(self.receive)(sent, uploads.start)
        upload = jax.tree.map(lambda a, b: _pick(lying, a, b), received.upload, uploads.upload)
        return uploads._replace(upload=upload), received.report


def mean_change(uploads: Uploads, weights: Any) -> Upload:
    """The weighted mean of the accepted uploads' changes."""
    counted = jnp.asarray(weights) * uploads.accepted
    total = counted.sum()
    shares = counted / jnp.where(total != 0, total, 1.0)
    return jax.tree.map(lambda leaf: jnp.tensordot(shares.astype(leaf.dtype), leaf, 1), uploads.changes())


def _pick(lying: jax.Array, lie: jax.Array, truth: jax.Array) -> jax.Array:
    return jnp.where((lying > 0).reshape(-1, *(1,) * (truth.ndim - 1)), lie, truth)
