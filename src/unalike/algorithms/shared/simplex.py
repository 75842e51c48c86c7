"""Projection on the simplex, within bounds.

    min_p |p - v|^2     sum_i p_i = 1,  low_i <= p_i <= high_i        p_i = clip(v_i - tau, low_i, high_i)

with the one tau that makes them sum to one. The sum falls with tau, in straight lines between the places at
which a weight leaves one of its bounds, so tau is found exactly.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def project_simplex(
    values: jax.Array, low: jax.Array | float = 0.0, high: jax.Array | float = 1.0
) -> jax.Array:
    """The nearest weights that sum to one; the bounds must allow it.

    >>> [round(float(p), 4) for p in project_simplex(jnp.array([0.5, 0.8, -0.2]))]
    [0.35, 0.65, 0.0]
    """
    bends = jnp.sort(jnp.concatenate([values - low, values - high]))
    sums = jnp.clip(values - bends[:, None], low, high).sum(axis=1)
    after = jnp.clip(jnp.searchsorted(-sums, -1.0, side="right"), 1, len(bends) - 1)
    drop = sums[after - 1] - sums[after]
    part = jnp.where(drop > 0, (sums[after - 1] - 1) / jnp.where(drop > 0, drop, 1.0), 0.0)
    shift = bends[after - 1] + part * (bends[after] - bends[after - 1])
    return jnp.clip(values - shift, low, high)
