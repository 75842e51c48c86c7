"""How well does a prior explain one client's rows?  (Negative log marginal likelihood and its gradient.)

    L(u) = 1/2 (y' C^-1 y + log|C| + n log 2 pi),   dL/du = 1/2 tr[(C^-1 - a a') dC/du],   a = C^-1 y

Rows may be padded: a row that is not real has a one on C's diagonal, zeros beside it and y = 0, which changes
nothing. C is factorised with a jitter of 1e-8 of the signal's variance, then ten times more, up to 1e-4; if
even that fails, `found` says so and nothing is NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .kernels import Kernel

JITTER, LARGEST_JITTER = 1e-8, 1e-4
"""Shares of the signal's variance."""
_BLOCK = 64
"""Triangles up to this size are inverted by substitution."""


class Likelihood(NamedTuple):
    """The negative log marginal likelihood at a point."""

    loss: jax.Array
    gradient: jax.Array
    """With respect to the log parameters."""
    found: jax.Array
    """Whether the covariance could be factorised; if not, loss and gradient are zero."""
    jitter: jax.Array
    """The share of the signal's variance that was added to the diagonal."""


def negative_log_likelihood(
    kernel: Kernel, params: jax.Array, x: jax.Array, y: jax.Array, real: jax.Array, jitter: float = JITTER
) -> Likelihood:
    """Loss and gradient of rows that are `real` (1) or padding (0), in double precision."""
    real = real.astype(y.dtype)
    y, inside = y * real, real[:, None] * real[None, :]
    known = kernel.correlations(params, x, x)
    smooth = kernel.covariance(params, x, x, known) * inside
    variance = kernel.signal_variance(params)
    diagonal = jnp.exp(2 * params[kernel.noise]) * real + (1 - real)
    factor, used = factorize(smooth, diagonal, variance * real, jitter)
    found = jnp.isfinite(factor[-1, -1])
    factor = jnp.where(found, factor, jnp.eye(len(y), dtype=y.dtype))
    inverse_factor = invert_triangle(factor)
    inverse = inverse_factor.T @ inverse_factor
    weights = inverse @ y
    table = (inverse - weights[:, None] * weights[None, :]) * inside
    gradient = 0.5 * kernel.contract(params, x, table, known) + _of_jitter(kernel, params, used, table)
    fit, complexity = 0.5 * y @ weights, jnp.log(jnp.diagonal(factor)).sum()
    loss = fit + complexity + 0.5 * jnp.log(2 * jnp.pi) * real.sum()
    sound = found & jnp.isfinite(loss) & jnp.isfinite(gradient).all()
    return Likelihood(jnp.where(sound, loss, 0), jnp.where(sound, gradient, 0), sound, used)


def factorize(
    smooth: jax.Array, diagonal: jax.Array, variance: jax.Array, jitter: float = JITTER
) -> tuple[jax.Array, jax.Array]:
    """The Cholesky factor with as little jitter (in decades) as will do, and how much that was; NaN if even
    the largest does not help."""

    def attempt(amount: jax.Array) -> jax.Array:
        table = smooth + jnp.diag(diagonal + amount * variance)
        return lax.linalg.cholesky(table, symmetrize_input=False)

    def failed(carry: tuple[jax.Array, jax.Array]) -> jax.Array:
        factor, amount = carry
        return ~jnp.isfinite(factor[-1, -1]) & (amount < 0.99 * LARGEST_JITTER)

    def again(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        more = jnp.maximum(10 * carry[1], JITTER)
        return attempt(more), more

    first = jnp.asarray(jitter, smooth.dtype)
    return lax.while_loop(failed, again, (attempt(first), first))


def invert_triangle(factor: jax.Array) -> jax.Array:
    """The inverse of a lower triangle, by halves: [A 0; B D]^-1 = [A^-1 0; -D^-1 B A^-1 D^-1].

    Halves are multiplied as whole matrices, which takes a fraction of the time of one large substitution.
    """
    n = len(factor)
    if n <= _BLOCK:
        identity = jnp.eye(n, dtype=factor.dtype)
        return lax.linalg.triangular_solve(factor, identity, left_side=True, lower=True)
    half = n // 2
    upper, lower = invert_triangle(factor[:half, :half]), invert_triangle(factor[half:, half:])
    corner = -lower @ (factor[half:, :half] @ upper)
    zeros = jnp.zeros((half, n - half), factor.dtype)
    return jnp.block([[upper, zeros], [corner, lower]])


def _of_jitter(kernel: Kernel, params: jax.Array, jitter: jax.Array, table: jax.Array) -> jax.Array:
    """The gradient's part that comes from the jitter, which is a share of the signal's variance."""
    signals = jnp.exp(2 * params[: kernel.noise]) * jitter * jnp.trace(table)
    return jnp.concatenate([signals, jnp.zeros(kernel.size - kernel.noise, signals.dtype)])


def padded(x: np.ndarray, y: np.ndarray, multiple: int = 32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows padded to a multiple, and which are real, so that few shapes are compiled."""
    room = -(-max(len(y), 1) // multiple) * multiple - len(y)
    real = np.concatenate([np.ones(len(y)), np.zeros(room)])
    return np.pad(x, ((0, room), (0, 0))), np.pad(y, (0, room)), real
