"""Sparse Gaussian process of all clients' rows from sums alone: inducing points, DVI.

Titsias, Variational Learning of Inducing Variables in Sparse Gaussian Processes (2009); distributed by Gal,
van der Wilk, Rasmussen (2014). With inducing places z, all that is needed of clients are sums,

    Phi = sum_k K_zk K_kz,   b = sum_k K_zk y_k,   sum y^2,   sum tr K_kk,   rows

and with A = K_zz + Phi / noise^2 the likelihood is bounded from below by

    -1/2 [ n log(2 pi noise^2) + log|A| - log|K_zz| + y'y / noise^2 - b' A^-1 b / noise^4
           + (tr K - tr(K_zz^-1 Phi)) / noise^2 ]

It is one function for all clients, so it suits clients that are alike; the sums travel at every step of the
optimizer, and are as large as the square of the number of inducing places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from unalike.analytics.gaussian_process.kernels import AnyArray, Kernel
from unalike.analytics.gaussian_process.likelihood import JITTER, pad_rows
from unalike.analytics.gaussian_process.maximum_likelihood import (
    BOUNDS,
    STARTS,
    Rows,
    loss_and_gradient,
    minimize_from,
)
from unalike.errors import ConfigError
from unalike.typing import Float64s


class SparseSums(NamedTuple):
    """What a client sends; the sums of several clients add up."""

    products: AnyArray
    outputs: AnyArray
    squares: AnyArray
    trace: AnyArray
    rows: AnyArray

    def __add__(self, other: SparseSums) -> SparseSums:  # type: ignore[override]
        return SparseSums(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True)
class SparseProcess:
    """A process that knows rows by their sums alone."""

    kernel: Kernel
    params: Float64s
    places: Float64s
    weights: Float64s

    def predict(self, x: Float64s) -> Float64s:
        """The mean at rows x."""
        return np.asarray(self.kernel.covariance(self.params, x, self.places) @ self.weights)


def sparse_sums(
    kernel: Kernel, params: AnyArray, places: AnyArray, x: AnyArray, y: AnyArray, real: AnyArray
) -> SparseSums:
    """One client's sums; rows that are not `real` (0) count for nothing."""
    across = kernel.covariance(params, places, x) * real[None, :]
    y = y * real
    total = kernel.signal_variance(params) * real.sum()
    return SparseSums(across @ across.T, across @ y, y @ y, total, real.sum())


def sparse_bound(kernel: Kernel, params: jax.Array, places: jax.Array, sums: SparseSums) -> jax.Array:
    """Minus the bound on the log likelihood: not smaller than the negative log likelihood itself."""
    noise = jnp.exp(2 * params[kernel.noise])
    prior = kernel.covariance(params, places, places)
    prior = prior + JITTER * kernel.signal_variance(params) * jnp.eye(len(places))
    factor, wide = jnp.linalg.cholesky(prior), jnp.linalg.cholesky(prior + sums.products / noise)
    half = jax.scipy.linalg.solve_triangular(wide, sums.outputs, lower=True)
    explained = jnp.trace(jax.scipy.linalg.cho_solve((factor, True), sums.products))
    logs = jnp.log(jnp.diagonal(wide)).sum() - jnp.log(jnp.diagonal(factor)).sum()
    fit = (sums.squares - half @ half / noise + sums.trace - explained) / noise
    return 0.5 * (sums.rows * jnp.log(2 * jnp.pi * noise) + fit) + logs


def fit_sparse(kernel: Kernel, clients: Sequence[Rows], inducing: int = 100) -> SparseProcess:
    """The best hyper-parameters for evenly chosen inducing places among all clients' rows."""
    if inducing < 1:
        raise ConfigError(f"there must be at least one inducing place, but there are {inducing}.")
    x, y = (np.concatenate([rows[part] for rows in clients]) for part in (0, 1))
    chosen = np.unique(np.linspace(0, len(y) - 1, min(inducing, len(y))).round().astype(int))
    places, given = x[chosen], pad_rows(x, y)

    def objective(params: Float64s) -> tuple[float, Float64s]:
        return loss_and_gradient(_program(kernel), params, places, *given)

    params = minimize_from([kernel.vector(*start) for start in STARTS[:2]], objective, BOUNDS, 60).params
    sums = sparse_sums(kernel, params, places, x, y, np.ones(len(y)))
    noise = float(np.exp(2 * params[kernel.noise]))
    prior = kernel.covariance(params, places, places)
    prior = prior + JITTER * float(kernel.signal_variance(params)) * np.eye(len(places))
    factor = cho_factor(prior + sums.products / noise, lower=True)
    return SparseProcess(kernel, params, places, cho_solve(factor, sums.outputs) / noise)


@lru_cache(maxsize=8)
def _program(kernel: Kernel) -> Any:
    def loss(params: jax.Array, places: jax.Array, *rows: jax.Array) -> jax.Array:
        return sparse_bound(kernel, params, places, sparse_sums(kernel, params, places, *rows))

    @jax.jit
    def program(params: jax.Array, places: jax.Array, *rows: jax.Array) -> Any:
        value, gradient = jax.value_and_grad(loss)(params, places, *rows)
        return value, gradient, jnp.isfinite(value) & jnp.isfinite(gradient).all()

    return program
