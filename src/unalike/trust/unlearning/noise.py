"""Gaussian noise for unlearning, from the operating system.

    theta + sigma z,   z ~ Normal(0, I)

The same z on two restarts of one model would cancel, so it follows from no seed and is kept nowhere: only the
sum is stored. It is added with 64 bits and rounded last, because 32 bits of noise on a large weight leave a
pattern.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import jax
import numpy as np
import scipy

from ...errors import ConfigError
from ...typing import Array, Float64s, PyTree

_MANTISSA = 53


def draw_normals(count: int) -> Float64s:
    """Independent standard normal numbers that nobody can draw again.

    >>> len(draw_normals(3))
    3
    """
    words = np.frombuffer(os.urandom(8 * count), np.uint64) >> np.uint64(64 - _MANTISSA)
    return np.asarray(scipy.special.ndtri((words + 0.5) / 2.0**_MANTISSA), np.float64)


def add_noise(tree: PyTree, sigma: float, draw: Callable[[int], Float64s] = draw_normals) -> PyTree:
    """Every entry with normal noise of its own; entries that are not real numbers cannot have any. Only a
    simulation, which hides nothing, may draw the noise in another way."""
    leaves, structure = jax.tree.flatten(tree)
    arrays = [np.asarray(leaf) for leaf in leaves]
    if not all(np.issubdtype(array.dtype, np.floating) for array in arrays):
        raise ConfigError("noise can be added to real numbers only, but the model holds others.")
    return jax.tree.unflatten(structure, [_noisy(array, sigma * draw(array.size)) for array in arrays])


def _noisy(array: Array, noise: Float64s) -> Array:
    return (array.astype(np.float64) + noise.reshape(array.shape)).astype(array.dtype)
