"""How far may one client change the model?  (Norm bound: clipping the norm of every upload's change.)"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from ..algorithms import Algorithm, Reply
from ..core import pytrees
from ..errors import ConfigError
from ..participation import Participation
from ..typing import Message, Upload
from .base import Aggregator, Received, aggregator_registry, check_changes


@aggregator_registry.add("norm-bound")
@dataclass(frozen=True)
class NormBound(Aggregator):
    """No client changes the model by more than a norm: longer changes are scaled down; `norm-bound:1`."""

    norm: float = 1.0

    def __post_init__(self) -> None:
        check_norm(self.norm)

    def check(self, method: Algorithm, who: Participation, message: Message, reply: Reply) -> None:
        check_changes("norm-bound", message, reply.upload)

    def receive(self, upload: Upload, start: Message) -> Received:
        clipped, factor = clip_change(upload, start, self.norm)
        return Received(clipped, None, {"clipped": (factor < 1).astype(jnp.float32)})


def clip_change(upload: Upload, start: Message, norm: float) -> tuple[Upload, jax.Array]:
    """The upload with its change from the start scaled down to at most that norm, and the factor."""
    change = pytrees.subtract(upload, start)
    length = jnp.sqrt(pytrees.squared_norm(change))
    factor = jnp.minimum(1.0, norm / jnp.maximum(length, 1e-30))
    return pytrees.where(factor < 1, pytrees.add_scaled(start, factor, change), upload), factor


def check_norm(norm: float) -> None:
    """Raise where a bound on changes is none."""
    if not 0 < norm < float("inf"):
        raise ConfigError(f"the largest norm of a change must be above 0, but is {norm:g}.")
