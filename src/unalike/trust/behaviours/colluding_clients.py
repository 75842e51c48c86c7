"""How do clients lie together?  (An aggregator around an aggregator.)

Lies that need to know what honest clients send are made up where all uploads are: at the server, before its
own rule sees them. It is a simulation of an attacker that knows everything, the worst case of the papers.

    changes c_1 ... c_n  ->  behaviour(c)_1 ... behaviour(c)_n  ->  the server's rule, as if nothing had
                                                                    happened
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from ...aggregation.base import Aggregator, Combined, Received, Uploads, check_changes
from ...algorithms import Algorithm, Reply
from ...core import pytrees
from ...errors import ConfigError
from ...participation import Participation
from ...timing import Step
from ...typing import Array, Message, Upload
from .base import Behaviour


@dataclass(frozen=True)
class ColludingClients(Aggregator):
    """The server's rule, when some clients (`who`, their numbers) agree upon what they send."""

    inner: Aggregator
    behaviour: Behaviour
    who: tuple[int, ...]

    sees_uploads: ClassVar[bool] = True

    @property
    def observes(self) -> bool:  # type: ignore[override]
        return self.inner.observes

    def check(self, method: Algorithm, who: Participation, message: Message, reply: Reply) -> None:
        if self.inner.finishes:
            raise ConfigError(
                f"{type(self.inner).__name__} works on the sum of uploads, but colluding clients are "
                "simulated on single ones; choose another aggregator, or a behaviour such as sign-flip."
            )
        check_changes("a lie of several clients", message, reply.upload)
        self.inner.check(method, who, message, reply)

    def receive(self, upload: Upload, start: Message) -> Received:
        return self.inner.receive(upload, start)

    def combine(self, uploads: Uploads) -> Combined:
        told = self.with_lies(uploads)
        weights, update, report = self.inner.combine(told)
        if update is None:  # the server would mix the true uploads by these weights
            update = mean_change(told, uploads.weight if weights is None else weights)
        return Combined(update=update, report=report)

    def with_lies(self, uploads: Uploads) -> Uploads:
        """The uploads as the server receives them, each by itself like any other."""
        lying = jnp.isin(uploads.client, jnp.asarray(self.who)) * (uploads.accepted > 0)
        honest = (uploads.accepted > 0) & ~lying.astype(bool)
        changes = self.behaviour.change_uploads(
            uploads.changes(), honest.astype(jnp.float32), lying.astype(jnp.float32)
        )
        upload = pytrees.add(uploads.start, changes)
        received = jax.vmap(lambda one, start: self.inner.receive(one, start).upload)(upload, uploads.start)
        return uploads._replace(
            upload=jax.tree.map(lambda a, b: _pick(lying, a, b), received, uploads.upload)
        )

    def observe(self, step: Step, report: Mapping[str, Any]) -> tuple[dict[str, float], list[dict[str, Any]]]:
        return self.inner.observe(step, report)

    def state(self) -> dict[str, Array]:
        return self.inner.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        self.inner.restore(state)


def mean_change(uploads: Uploads, weights: Any) -> Upload:
    """The weighted mean of the accepted uploads' changes."""
    counted = jnp.asarray(weights) * uploads.accepted
    total = counted.sum()
    shares = counted / jnp.where(total != 0, total, 1.0)
    return jax.tree.map(lambda leaf: jnp.tensordot(shares.astype(leaf.dtype), leaf, 1), uploads.changes())


def _pick(lying: jax.Array, lie: jax.Array, truth: jax.Array) -> jax.Array:
    return jnp.where((lying > 0).reshape(-1, *(1,) * (truth.ndim - 1)), lie, truth)
