"""Where does the noise of a forgotten model come from?  (Gaussian noise, from the operating system.)

    theta + sigma z,   z ~ Normal(0, I)

The same z on two restarts of one model would cancel, so it follows from no seed and is kept nowhere: only the
sum is stored. It is added with 64 bits and rounded last, because 32 bits of noise on a large weight leave a
pattern.
"""

from __future__ import annotations

import os

import jax
import numpy as np
from scipy.special import ndtri

from ...errors import ConfigError
from ...typing import Float64s, PyTree

_MANTISSA = 53


def draw_normals(count: int) -> Float64s:
    """Independent standard normal numbers that nobody can draw again.

    >>> len(draw_normals(3))
    3
    """
    words = np.frombuffer(os.urandom(8 * count), np.uint64) >> np.uint64(64 - _MANTISSA)
    return np.asarray(ndtri((words + 0.5) / 2.0**_MANTISSA), np.float64)


def add_noise(tree: PyTree, sigma: float) -> PyTree:
    """Every entry with normal noise of its own; entries that are not real numbers cannot have any."""
    leaves, structure = jax.tree.flatten(tree)
    arrays = [np.asarray(leaf) for leaf in leaves]
    if not all(np.issubdtype(array.dtype, np.floating) for array in arrays):
        raise ConfigError("noise can be added to real numbers only, but the model holds others.")
    return jax.tree.unflatten(structure, [_noisy(array, sigma) for array in arrays])


def _noisy(array: np.ndarray, sigma: float) -> np.ndarray:
    noise = sigma * draw_normals(array.size).reshape(array.shape)
    return (array.astype(np.float64) + noise).astype(array.dtype)
