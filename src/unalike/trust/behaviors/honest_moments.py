"""Mean and variance of honest uploads, by coordinate.

    mean = sum_i h_i c_i / sum_i h_i,        deviation = sqrt(sum_i h_i (c_i - mean)^2 / sum_i h_i)

over the changes c_i of a step, where h_i is 1 for an honest client; zeros where there is none.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ...core import pytrees
from ...typing import PyTree, Upload


def honest_mean(changes: Upload, honest: jax.Array) -> PyTree:
    """The mean of the honest clients' changes.

    >>> honest_mean(jnp.array([[1.0], [3.0], [50.0]]), jnp.array([1, 1, 0])).tolist()
    [2.0]
    """
    count = jnp.maximum(honest.sum(), 1)
    return jax.tree.map(lambda leaf: jnp.tensordot(honest.astype(leaf.dtype), leaf, 1) / count, changes)


def honest_deviation(changes: Upload, honest: jax.Array) -> PyTree:
    """The standard deviation of the honest clients' changes, by coordinate.

    >>> honest_deviation(jnp.array([[1.0], [3.0], [50.0]]), jnp.array([1, 1, 0])).tolist()
    [1.0]
    """
    apart = pytrees.subtract(changes, honest_mean(changes, honest))
    return jax.tree.map(jnp.sqrt, honest_mean(jax.tree.map(jnp.square, apart), honest))


def in_place_of(changes: Upload, lying: jax.Array, lie: PyTree) -> Upload:
    """The changes with one lie in place of every dishonest one."""

    def put(leaf: jax.Array, one: jax.Array) -> jax.Array:
        here = (lying > 0).reshape(-1, *(1,) * (leaf.ndim - 1))
        return jnp.where(here, one[None], leaf)

    return jax.tree.map(put, changes, lie)
