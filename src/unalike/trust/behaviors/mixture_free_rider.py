"""Free-riders with noise from a Gaussian mixture of coordinates.

Layers and unused inputs change by different amounts, so one Gaussian for all entries gives a disguise away.
Here the entries of D, the difference of the two models received last, are a mixture of three zero-mean
Gaussians fitted by EM, and each coordinate gets noise of the deviation of the component it belongs to:

    upload_c  =  theta_c + m s_{k(c)} t^-gamma N(0, 1),        k(c) = argmax_k pi_k N(D_c; 0, s_k^2)

It is fitted again every `refit` rounds. (The first public code of Fraboni, Vidal and Lorenzi's "Free-rider
Attacks on Model Aggregation in Federated Learning", 2021, has such a disguise; the paper does not.)
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...core import pytrees
from ...typing import Memory, Message, PyTree, Upload
from .base import Situation
from .free_rider import FreeRider
from .noise import power_decay, standard_normal

COMPONENTS, PASSES = 3, 30
_TINY = 1e-30


@dataclass(frozen=True)
class MixtureFreeRider(FreeRider):
    """Sends back what it was sent, with noise whose size differs between coordinates as training's does."""

    gamma: float = 0.75
    m: float = 1.0
    first: float = 1e-3
    refit: int = 50

    def first_memory(self, message: Message) -> Memory:
        """How often it was sent a model, the last one, all coordinates' deviations, and when they were
        fitted."""
        return Memory(
            {
                "received": jnp.zeros((), jnp.int32),
                "previous": pytrees.zeros_like(message),
                "deviations": pytrees.zeros_like(message),
                "fitted": jnp.zeros((), jnp.int32),
            }
        )

    def change_upload(self, upload: Upload, now: Situation) -> tuple[Upload, Memory]:
        memory, round = now.memory, jnp.asarray(now.round, jnp.int32)
        due = (memory["received"] == 1) | (round - memory["fitted"] >= self.refit) & (memory["received"] > 0)
        deviations = lax.cond(
            due,
            lambda: coordinate_deviations(pytrees.subtract(now.message, memory["previous"])),
            lambda: memory["deviations"],
        )
        early = memory["received"] == 0
        sizes = pytrees.scale(power_decay(round, self.gamma), deviations)
        sizes = jax.tree.map(lambda size: self.m * jnp.where(early, self.first, size), sizes)
        drawn = jax.tree.map(jnp.multiply, sizes, standard_normal(now.key, now.message))
        kept = {
            "received": memory["received"] + 1,
            "previous": now.message,
            "deviations": deviations,
            "fitted": jnp.where(due, round, memory["fitted"]),
        }
        return pytrees.add(now.message, drawn), Memory(kept)


def coordinate_deviations(difference: PyTree) -> PyTree:
    """The deviation of the component to which each entry most probably belongs."""
    leaves, structure = jax.tree.flatten(difference)
    entries = jnp.concatenate([leaf.ravel() for leaf in leaves])
    weights, deviations = fit_scales(entries)
    chosen = deviations[jnp.argmax(_log_chances(entries, weights, deviations), axis=-1)]
    parts = jnp.split(chosen, np.cumsum([leaf.size for leaf in leaves])[:-1])
    return jax.tree.unflatten(
        structure, [p.reshape(leaf.shape) for p, leaf in zip(parts, leaves, strict=True)]
    )


def fit_scales(entries: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Weights and deviations of a mixture of zero-mean Gaussians, by EM from the thirds of sorted entries."""
    sizes = jnp.sort(jnp.abs(entries))
    middles = ((jnp.arange(COMPONENTS) + 0.5) / COMPONENTS * len(entries)).astype(jnp.int32)
    floor = 1e-6 * sizes[-1] + _TINY  # entries that never change have no deviation of their own
    start = jnp.maximum(sizes[jnp.minimum(middles, len(entries) - 1)], floor)

    def step(_: int, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        chances = jax.nn.softmax(_log_chances(entries, *carry), axis=-1)
        total = chances.sum(0) + _TINY
        spread = jnp.sqrt((chances * entries[:, None] ** 2).sum(0) / total)
        return total / total.sum(), jnp.maximum(spread, floor)

    return lax.fori_loop(0, PASSES, step, (jnp.full(COMPONENTS, 1 / COMPONENTS), start))


def _log_chances(entries: jax.Array, weights: jax.Array, deviations: jax.Array) -> jax.Array:
    return jnp.log(weights + _TINY) - jnp.log(deviations) - 0.5 * (entries[:, None] / deviations) ** 2
