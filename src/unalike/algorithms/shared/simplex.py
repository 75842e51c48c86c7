"""Which weights are nearest to given numbers?  (Projection on the simplex, within bounds.)

    min_p |p - v|^2     sum_i p_i = 1,  low_i <= p_i <= high_i        p_i = clip(v_i - tau, low_i, high_i)

with the one tau that makes them sum to one, found by bisection.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

HALVINGS = 60
"""More than single precision can tell apart."""


def project_simplex(
    values: jax.Array, low: jax.Array | float = 0.0, high: jax.Array | float = 1.0
) -> jax.Array:
    """The nearest weights that sum to one; the bounds must allow it.

    >>> [round(float(p), 4) for p in project_simplex(jnp.array([0.5, 0.8, -0.2]))]
    [0.35, 0.65, 0.0]
    """

    def halve(_: jax.Array, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        left, right = ends
        middle = (left + right) / 2
        too_much = jnp.clip(values - middle, low, high).sum() > 1
        return jnp.where(too_much, middle, left), jnp.where(too_much, right, middle)

    ends = (jnp.min(values - high), jnp.max(values - low))
    left, right = lax.fori_loop(0, HALVINGS, halve, ends)
    return jnp.clip(values - (left + right) / 2, low, high)
