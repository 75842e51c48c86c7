"""Replay free-riders: they repeat everyone's last change.

    upload  =  theta_t + m (theta_t - theta_s),        theta_s the model it was sent before

Known from attacks on gradient averaging as delta weights. The change has the norm, the direction and the
shape of real training, because it is real training: that of the others. In its first round, when there is
nothing to repeat, it adds a little noise (`first`), so that it does not send back what it was sent.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp

from ...core import pytrees
from ...typing import Memory, Message, Upload
from .base import Situation
from .free_rider import FreeRider
from .noise import standard_normal


@dataclass(frozen=True)
class ReplayFreeRider(FreeRider):
    """Sends what it was sent, and once more the change since it last was."""

    m: float = 1.0
    first: float = 1e-3

    def first_memory(self, message: Message) -> Memory:
        """How often it was sent a model, and the last one."""
        return Memory({"received": jnp.zeros((), jnp.int32), "previous": pytrees.zeros_like(message)})

    def change_upload(self, upload: Upload, now: Situation) -> tuple[Upload, Memory]:
        change = pytrees.subtract(now.message, now.memory["previous"])
        noise = pytrees.scale(self.first, standard_normal(now.key, now.message))
        repeated = pytrees.where(now.memory["received"] > 0, change, noise)
        kept = Memory({"received": now.memory["received"] + 1, "previous": now.message})
        return pytrees.add_scaled(now.message, self.m, repeated), kept
