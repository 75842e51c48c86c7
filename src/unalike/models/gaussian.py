"""A Gaussian density as a model: its parameters are a mean.

    log N(x; mu, I)  =  -|x - mu|^2 / 2 - (d / 2) log(2 pi)

Its output is the log-density of each row and its loss minus that; labels are not looked at. Mixtures of such
models are Gaussian mixtures with components that clients share.
"""

from __future__ import annotations

import math
from functools import partial

import jax
import jax.numpy as jnp

from ..errors import ConfigError
from ..typing import Params
from .catalog import model_registry
from .losses import negative_log_density
from .model import Model


@model_registry.add("gaussian")
def gaussian(scale: float = 1.0, *, input_shape: tuple[int, ...], outputs: int) -> Model:
    """A Gaussian density with unit covariance, whose mean is learned from rows without their labels; fresh
    means of `gaussian:5` have standard deviation 5."""
    if not 0 <= scale < math.inf:
        raise ConfigError(f"the spread of a Gaussian's first mean must not be negative, but is {scale}.")
    return Model(partial(_drawn_mean, math.prod(input_shape), scale), log_density, loss=negative_log_density)


def log_density(mean: Params, x: jax.Array) -> jax.Array:
    """log N(x; mean, I) of every row.

    >>> round(float(log_density(jnp.zeros(2), jnp.zeros((1, 2)))[0]), 4)
    -1.8379
    """
    rows = x.reshape(len(x), -1)
    return -0.5 * jnp.sum((rows - mean) ** 2, axis=-1) - 0.5 * rows.shape[-1] * math.log(2 * math.pi)


def _drawn_mean(dimension: int, scale: float, key: jax.Array) -> Params:
    return scale * jax.random.normal(key, (dimension,))
