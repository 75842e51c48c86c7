"""Gaussian noise on models, and its size.

Fraboni, Vidal and Lorenzi, "Free-rider Attacks on Model Aggregation in Federated Learning" (2021): the
difference D of two models that were received is what training looks like from outside, and its entries as
draws from N(0, sigma^2) have

    sigma = sqrt(mean(D^2))      (rms, maximum likelihood)       or       sigma = mean(|D|)      (mean-abs)
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ...core import pytrees
from ...core.random import purpose_code
from ...errors import ConfigError
from ...typing import PyTree

ESTIMATORS = ("rms", "mean-abs")


def check_sigma(sigma: str | float) -> None:
    """Raise where this is neither an estimator nor a number from 0."""
    if sigma in ESTIMATORS or (isinstance(sigma, int | float) and 0 <= sigma < float("inf")):
        return
    raise ConfigError(
        f"sigma must be {', '.join(ESTIMATORS)} or a fixed number that is not negative, but is {sigma!r}."
    )


def estimate_sigma(difference: PyTree, sigma: str | float = "rms") -> jax.Array:
    """The standard deviation of a difference's entries about zero, by an estimator; a number is fixed.

    >>> change = {"w": jnp.array([3.0, -4.0])}
    >>> [round(float(estimate_sigma(change, sigma)), 4) for sigma in ("rms", "mean-abs", 0.25)]
    [3.5355, 3.5, 0.25]
    """
    if not isinstance(sigma, str):
        return jnp.asarray(sigma, jnp.float32)
    if sigma == "rms":
        return jnp.sqrt(pytrees.squared_norm(difference) / pytrees.size(difference))
    total = sum(jnp.abs(leaf).sum() for leaf in jax.tree.leaves(difference))
    return jnp.asarray(total / pytrees.size(difference), jnp.float32)


def standard_normal(key: jax.Array, like: PyTree) -> PyTree:
    """A fresh draw of N(0, 1) for every entry of a tree."""
    leaves, structure = jax.tree.flatten(like)
    keys = jax.random.split(jax.random.fold_in(key, purpose_code("behavior")), max(len(leaves), 1))
    drawn = [jax.random.normal(k, leaf.shape, leaf.dtype) for k, leaf in zip(keys, leaves, strict=False)]
    return jax.tree.unflatten(structure, drawn)


def power_decay(round: Any, gamma: float) -> jax.Array:
    """max(t, 1)^(-gamma) in round t.

    >>> [float(power_decay(t, 1.0)) for t in (0, 1, 4)]
    [1.0, 1.0, 0.25]
    """
    return jnp.maximum(jnp.asarray(round, jnp.float32), 1.0) ** -gamma


def exponential_decay(round: Any, gamma: float) -> jax.Array:
    """exp(-gamma (t - 1)) in round t, and 1 before.

    >>> float(exponential_decay(0, 0.5)), round(float(exponential_decay(3, 0.5)), 4)
    (1.0, 0.3679)
    """
    return jnp.exp(-gamma * jnp.maximum(jnp.asarray(round, jnp.float32) - 1.0, 0.0))
