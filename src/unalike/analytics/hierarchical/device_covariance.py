"""Between-device covariance, damped, and the shrinkage it causes at each device.

With one row of coefficients per device, Theta (devices x coefficients),

    covariance  <-  (1 - damping) * covariance + damping / d * Theta Theta'
    pull        =   covariance^-1 Theta

The product Theta Theta' has at most rank d, so with more devices than coefficients nothing but the damping
keeps the covariance regular; before it is solved with, a small multiple of its mean variance is added.

For many devices the covariance is kept as a multiple of the identity plus a factor of low rank, and solved
with by Woodbury's identity: memory grows with devices times rank, not with the square of devices.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_factor, cho_solve


class LowRank(NamedTuple):
    """The covariance scale * I + factor factor'."""

    scale: jax.Array
    factor: jax.Array


def floor_of(damping: float) -> float:
    """What is added relative to the mean variance; strong damping forgets the identity sooner."""
    return 1e-6 if damping >= 0.5 else 1e-8


def add_floor(covariance: jax.Array, floor: float) -> jax.Array:
    """The covariance with a small multiple of its mean variance on the diagonal."""
    devices = len(covariance)
    return covariance + floor * jnp.trace(covariance) / devices * jnp.eye(devices)


def update_covariance(covariance: jax.Array, models: jax.Array, damping: float) -> jax.Array:
    """The covariance after it has seen these models (devices x coefficients)."""
    grown = (1 - damping) * covariance + damping / models.shape[1] * models @ models.T
    return (grown + grown.T) / 2


def pull_of(covariance: jax.Array, models: jax.Array, floor: float) -> tuple[jax.Array, jax.Array]:
    """Every device's pull, and the part of it that multiplies its own coefficients."""
    factor = cho_factor(add_floor(covariance, floor), lower=True)
    own = jnp.diagonal(cho_solve(factor, jnp.eye(len(covariance))))
    return cho_solve(factor, models), own


def identity(devices: int, rank: int) -> LowRank:
    """The identity with room for a factor of that rank."""
    return LowRank(jnp.ones(()), jnp.zeros((devices, rank)))


def update_low_rank(covariance: LowRank, models: jax.Array, damping: float, floor: float) -> LowRank:
    """The same update; of the factor, the directions with the largest variances are kept."""
    devices, rank = covariance.factor.shape
    old, new = jnp.sqrt(1 - damping) * covariance.factor, jnp.sqrt(damping / models.shape[1]) * models
    left, values, _ = jnp.linalg.svd(jnp.concatenate([old, new], axis=1), full_matrices=False)
    factor = (left * values)[:, :rank]
    factor = jnp.pad(factor, ((0, 0), (0, rank - factor.shape[1])))
    scale = (1 - damping) * covariance.scale
    mean = scale + jnp.sum(factor**2) / devices
    return LowRank(jnp.maximum(scale, floor * mean), factor)


def pull_of_low_rank(covariance: LowRank, models: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The same pull by Woodbury's identity."""
    scale, factor = covariance
    core = cho_factor(scale * jnp.eye(factor.shape[1]) + factor.T @ factor, lower=True)
    pull = (models - factor @ cho_solve(core, factor.T @ models)) / scale
    own = (1 - jnp.sum(factor * cho_solve(core, factor.T).T, axis=1)) / scale
    return pull, own
