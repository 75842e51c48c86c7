"""Posterior draws of a device's coefficients after a penalized regression, made at the device.

A ridge has them in closed form for every draw of (log lam, log noise); with other penalties the device has
sampled them in its last round and remembers. Between organizations these draws are all that a device tells:
they say less than the sums X'X and X'y from which they come.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algorithms import Algorithm
from ...core.random import generator
from ...errors import ConfigError
from ...typing import Float64s, Memory, Message
from .device_posterior import compose
from .expectation_propagation import ExpectationPropagation
from .sites import RidgeSite

DRAWS = 2000


def draw_at_device(method: Algorithm, message: Message, memory: Memory, x: Float64s, y: Float64s) -> Float64s:
    """The draws of a device with these rows (draws x coefficients), after the last round of a method."""
    if "draws" in memory:
        return np.asarray(memory["draws"], np.float64)
    if isinstance(method, ExpectationPropagation) and isinstance(method.site, RidgeSite):
        shift, precision = message["posterior"]
        return draw_ridge(shift, precision, x, y)
    raise ConfigError(f"{method.name} draws no coefficients of single devices.")


def draw_ridge(
    shift: Any, precision: Any, x: Float64s, y: Float64s, draws: int = DRAWS, seed: int = 0
) -> Float64s:
    """Coefficients of a device for draws of (log lam, log noise) from their posterior.

    >>> x = np.random.default_rng(0).normal(size=(500, 2))
    >>> found = draw_ridge(np.zeros(2), np.eye(2) * 1e6, x, x @ np.array([1.0, -1.0]))
    >>> found.mean(axis=0).round(1)
    array([ 1., -1.])
    """
    rng = generator(seed, "penalized posterior")
    covariance = np.linalg.inv(np.asarray(precision))
    phi = rng.multivariate_normal(np.linalg.solve(precision, shift), covariance, size=draws)
    variance = np.exp(phi[:, 1])
    tau = np.tile((variance / np.exp(phi[:, 0]))[:, None], (1, x.shape[1]))
    return compose(x.T @ x, x.T @ y, variance, np.zeros_like(tau), tau, rng)
