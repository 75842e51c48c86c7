"""Sufficient statistics of a client's rows for linear models, and their noise variance.

    gram = X'X,    cross = X'y,    square = y'y,    rows = n

are all that least squares and normal posteriors ever use of n rows, whatever n is.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ...algorithms.shared.client_data import ClientData

RIDGE = 1e-10
"""Relative size of what is added to a gram matrix before it is inverted, so that collinear columns do not
end a round."""


class Moments(NamedTuple):
    """Sums over one client's rows; with a leading axis, of several clients."""

    gram: jax.Array
    cross: jax.Array
    square: jax.Array
    rows: jax.Array


def moments_of(data: ClientData) -> Moments:
    """The sums over all rows of a client, without its padding."""
    batch = data.all_rows()
    x = batch.x * batch.weight[:, None]
    y = batch.y * batch.weight
    return Moments(x.T @ batch.x, x.T @ batch.y, y @ batch.y, batch.weight.sum().astype(x.dtype))


def least_squares(moments: Moments) -> jax.Array:
    """The coefficients of least squares; a minute ridge makes collinear columns share theirs."""
    width = moments.cross.shape[-1]
    small = RIDGE * jnp.trace(moments.gram) / width + jnp.finfo(moments.gram.dtype).tiny
    return jnp.linalg.solve(moments.gram + small * jnp.eye(width), moments.cross)


def residual_variance(moments: Moments) -> jax.Array:
    """The residual sum of squares over n - d; NaN where there are not more rows than coefficients."""
    left = moments.rows - moments.cross.shape[-1]
    unexplained = moments.square - moments.cross @ least_squares(moments)
    floor = 1e-12 * moments.square / jnp.maximum(moments.rows, 1)
    return jnp.where(left > 0, jnp.maximum(unexplained, 0) / jnp.maximum(left, 1) + floor, jnp.nan)


def noise_or(moments: Moments, typical: jax.Array) -> jax.Array:
    """The client's own noise variance, or that of the others where its rows cannot tell."""
    own = residual_variance(moments)
    return jnp.where(jnp.isnan(own), typical, own)
