"""Negative log marginal likelihood of one client's rows, and its gradient.

    L(u) = 1/2 (y' C^-1 y + log|C| + n log 2 pi),   dL/du = 1/2 tr[(C^-1 - a a') dC/du],   a = C^-1 y

Rows may be padded: a row that is not real has a one on C's diagonal, zeros beside it and y = 0, which changes
nothing. C and its inverse are symmetric, so both are computed in panels of some rows, each with the columns
up to its last row: of C and its derivatives a little more than half, of the products for the inverse a third.
C is factorized with a jitter of 1e-8 of the signal's variance, then ten times more, up to 1e-4; if even that
fails, `found` says so and nothing is NaN.
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
_PANEL, _MOST_PANELS = 50, 8
"""Rows of a panel, of few rows; and how many panels there are of many."""


class Likelihood(NamedTuple):
    """The negative log marginal likelihood at a point."""

    loss: jax.Array
    gradient: jax.Array
    """With respect to the log parameters."""
    found: jax.Array
    """Whether the covariance could be factorized; if not, loss and gradient are zero."""
    jitter: jax.Array
    """The share of the signal's variance that was added to the diagonal."""


def negative_log_likelihood(
    kernel: Kernel, params: jax.Array, x: jax.Array, y: jax.Array, real: jax.Array, jitter: float = JITTER
) -> Likelihood:
    """Loss and gradient of rows that are `real` (1) or padding (0), in double precision."""
    real = real.astype(y.dtype)
    y, inside, spans = y * real, real[:, None] * real[None, :], panels_of(len(y))
    known = [kernel.correlations(params, x[a:b], x[:b]) for a, b in spans]
    covariances = [kernel.covariance(params, x, x, found) for found in known]
    smooth = _stack_panels(covariances) * inside
    variance = kernel.signal_variance(params)
    diagonal = jnp.exp(2 * params[kernel.noise]) * real + (1 - real)
    factor, used = factorize(smooth, diagonal, variance * real, jitter)
    found = jnp.isfinite(factor[-1, -1])
    factor = jnp.where(found, factor, jnp.eye(len(y), dtype=y.dtype))
    inverse_factor = invert_triangle(factor)
    weights = inverse_factor.T @ (inverse_factor @ y)
    trace = ((inverse_factor**2).sum(axis=0) - weights**2) @ real
    gradient = _of_diagonal(kernel, params, used, trace)
    for (a, b), correlations in zip(spans, known, strict=True):
        inverse = inverse_factor[a:, a:b].T @ inverse_factor[a:, :b]
        table = (inverse - weights[a:b, None] * weights[None, :b]) * inside[a:b, :b]
        twice = jnp.concatenate([2 * table[:, :a], table[:, a:]], axis=1)  # for the panel's mirror image
        gradient += 0.5 * kernel.contract(params, x[a:b], x[:b], twice, correlations)
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


def panels_of(rows: int) -> list[tuple[int, int]]:
    """First row of every panel, and the one after its last.

    >>> panels_of(100), panels_of(32)
    ([(0, 50), (50, 100)], [(0, 32)])
    """
    count = min(max(rows // _PANEL, 1), _MOST_PANELS)
    return [(rows * i // count, rows * (i + 1) // count) for i in range(count)]


def _stack_panels(panels: list[jax.Array]) -> jax.Array:
    """A table of which only the panels are filled: its lower triangle is."""
    wide = panels[-1].shape[1]
    return jnp.concatenate([jnp.pad(panel, ((0, 0), (0, wide - panel.shape[1]))) for panel in panels])


def _of_diagonal(kernel: Kernel, params: jax.Array, jitter: jax.Array, trace: jax.Array) -> jax.Array:
    """The gradient's part from the noise and from the jitter, a share of the signal's variance."""
    signals = jnp.exp(2 * params[: kernel.noise]) * jitter * trace
    noise = jnp.exp(2 * params[kernel.noise]) * trace
    lengths = jnp.zeros(kernel.size - kernel.noise - 1, signals.dtype)
    return jnp.concatenate([signals, noise[None], lengths])


def pad_rows(x: np.ndarray, y: np.ndarray, multiple: int = 32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows padded to a multiple, and which are real, so that few shapes are compiled."""
    room = -(-max(len(y), 1) // multiple) * multiple - len(y)
    real = np.concatenate([np.ones(len(y)), np.zeros(room)])
    return np.pad(x, ((0, room), (0, 0))), np.pad(y, (0, room)), real
