"""Disguised free-riders: noise of the size of training.

Fraboni, Vidal and Lorenzi, "Free-rider Attacks on Model Aggregation in Federated Learning" (2021):

    upload  =  theta_t + phi(t) N(0, I),        phi(t) = m sigma           constant
                                                phi(t) = m sigma t^-gamma  decay (theirs)
                                                phi(t) = m sigma e^(-gamma (t - 1))  exponential

sigma is estimated once, from the first two models that the free-rider was sent; before that its noise has
the size m * first. If it does not take part in every round, these two are further apart, and sigma is that
of several rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from ...core import pytrees
from ...typing import Memory, Message, Upload
from .base import Situation
from .free_rider import FreeRider
from .noise import check_sigma, estimate_sigma, exponential_decay, power_decay, standard_normal

_FADES: dict[str, Callable[[Any, float], jax.Array]] = {
    "constant": lambda round, gamma: jnp.ones(()),
    "decay": power_decay,
    "exponential": exponential_decay,
}


@dataclass(frozen=True)
class DisguisedFreeRider(FreeRider):
    """Sends back what it was sent, with Gaussian noise."""

    kind: str = "decay"
    gamma: float = 1.0
    m: float = 1.0
    sigma: str | float = "rms"
    first: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sigma(self.sigma)

    def first_memory(self, message: Message) -> Memory:
        """How often it was sent a model, the last one, and sigma."""
        return Memory(
            {
                "received": jnp.zeros((), jnp.int32),
                "previous": pytrees.zeros_like(message),
                "sigma": jnp.zeros(()),
            }
        )

    def change_upload(self, upload: Upload, now: Situation) -> tuple[Upload, Memory]:
        memory = now.memory
        estimated = estimate_sigma(pytrees.subtract(now.message, memory["previous"]), self.sigma)
        sigma = jnp.where(memory["received"] == 1, estimated, memory["sigma"])
        size = jnp.where(
            memory["received"] == 0, self.first, sigma * _FADES[self.kind](now.round, self.gamma)
        )
        noise = standard_normal(now.key, now.message)
        kept = Memory({"received": memory["received"] + 1, "previous": now.message, "sigma": sigma})
        return pytrees.add_scaled(now.message, self.m * size, noise), kept
