"""Modular Gaussian processes: levels send sparse summaries of their rows once, and a server combines them.

P. Moreno-Munoz, A. Artes, M. Alvarez, Modular Gaussian Processes for Transfer Learning (2021). Each level
fits a process of its own and keeps what its rows say at M inducing inputs Z: the ratio of the sparse
posterior to the prior there (Titsias, 2009), a normal density with the natural parameters

    h  =  C^-1 K_uf y / s^2,      D  =  C^-1 K_uf K_fu C^-1 / s^2,      C = K(Z, Z)

Levels are outputs of one process with Q shared functions (a linear model of coregionalization),

    cov( f_i(x), f_j(z) )  =  sum_q (w_qi w_qj + v_qi 1[i = j]) k_q(x, z)

whose weights and lengths maximize the evidence of all pseudo-observations; what the ensemble's variational
bound approximates is computed exactly here, for the pseudo-observations are few. Once is enough, but D and h
say more of the rows than hyper-parameters do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve, solve_triangular

from ...core.random import generator
from ...typing import Float64s, Int64s
from .kernels import Kernel
from .likelihood import JITTER
from .maximum_likelihood import BOUNDS, Rows, loss_and_gradient, maximize_likelihood, minimize_from

INDUCING, SHARED = 20, 3
"""Inducing inputs of each level and shared functions, as published for the comparison of levels."""
STARTS = 3
"""Random starts of the server's weights."""


class Module(NamedTuple):
    """What a level sends: inducing inputs, and the natural parameters of what its rows say there."""

    inputs: Float64s
    precision: Float64s
    shift: Float64s


def predict_modular(kernel: Kernel, levels: Sequence[Rows], x: Float64s, seed: int = 0) -> Float64s:
    """The mean of the highest level at rows x; inputs and outputs are scaled, cheapest level first.

    Args:
        kernel: of every level's own process.
        levels: rows and outputs.
        x: where to predict.
        seed: of the server's random starts.
    """
    modules = [summarize_level(kernel, rows) for rows in levels]
    z = np.concatenate([module.inputs for module in modules])
    owners = np.repeat(np.arange(len(levels)), [len(module.inputs) for module in modules])
    known = block_diag(*(module.precision for module in modules))
    shift = np.concatenate([module.shift for module in modules])
    params = _fit_server(z, owners, known, shift, seed)
    table = np.asarray(_covariance(params, z, z, owners, owners, np)) + JITTER * np.eye(len(z))
    root = np.linalg.cholesky(table)
    inner = np.eye(len(z)) + root.T @ known @ root
    weights = solve_triangular(root.T, cho_solve(cho_factor(inner, lower=True), root.T @ shift))
    highest = np.full(len(x), len(levels) - 1)
    return np.asarray(_covariance(params, x, z, highest, owners, np) @ weights)


def summarize_level(kernel: Kernel, rows: Rows, inducing: int = INDUCING) -> Module:
    """One level's sparse summary, with hyper-parameters that are best for its rows.

    Args:
        kernel: of the level's own process.
        rows: its inputs and outputs.
        inducing: how many inducing inputs, rows that are far from each other.
    """
    x, y = rows
    params = maximize_likelihood(kernel, [rows]).params
    z = x[spread_rows(x, min(inducing, len(x)))]
    noise = float(np.exp(2 * params[kernel.noise])) + 1e-6
    among = kernel.covariance(params, z, z) + 1e-6 * float(kernel.signal_variance(params)) * np.eye(len(z))
    across = cho_solve(cho_factor(among, lower=True), kernel.covariance(params, z, x))
    return Module(z, across @ across.T / noise, across @ y / noise)


def spread_rows(x: Float64s, count: int) -> Int64s:
    """Rows that are far from each other: each the farthest from those before it, the first the most central.

    >>> spread_rows(np.array([[0.0], [0.1], [0.5], [1.0]]), 3).tolist()
    [2, 0, 3]
    """
    chosen = [int(((x - x.mean(axis=0)) ** 2).sum(axis=1).argmin())]
    nearest = ((x - x[chosen[0]]) ** 2).sum(axis=1)
    for _ in range(count - 1):
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, ((x - x[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen)


def _fit_server(z: Float64s, owners: Int64s, known: Float64s, shift: Float64s, seed: int) -> Float64s:
    """Logarithms of lengths and of variances, and weights, of all shared functions."""
    levels = int(owners.max()) + 1
    rng = generator(seed, "modular processes")

    def objective(params: Float64s) -> tuple[float, Float64s]:
        return loss_and_gradient(_evidence(), params, z, owners.astype(np.float64), known, shift)

    starts = []
    for _ in range(STARTS):
        weights = 0.7 + 0.3 * rng.normal(size=(SHARED, levels))
        lengths = np.log(np.geomspace(0.1, 1.0, SHARED))
        starts.append(np.concatenate([lengths, np.full(SHARED * levels, -3.0), weights.ravel()]))
    return minimize_from(starts, objective, BOUNDS).params


def _covariance(params: Any, a: Any, b: Any, of_a: Any, of_b: Any, xp: Any) -> Any:
    levels = (len(params) - SHARED) // (2 * SHARED)
    lengths = xp.exp(params[:SHARED])
    own = xp.exp(params[SHARED : SHARED * (1 + levels)]).reshape(SHARED, levels)
    weights = params[SHARED * (1 + levels) :].reshape(SHARED, levels)
    squares = ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1)
    same = of_a[:, None] == of_b[None, :]
    table = 0.0
    for q in range(SHARED):
        shared = weights[q][of_a][:, None] * weights[q][of_b][None, :] + same * own[q][of_a][:, None]
        table = table + shared * xp.exp(-0.5 * squares / lengths[q] ** 2)
    return table


@lru_cache(maxsize=1)
def _evidence() -> Any:
    """Minus the logarithm of the pseudo-observations' evidence, but for a constant."""

    def loss(params: jax.Array, z: jax.Array, owners: jax.Array, known: jax.Array, shift: jax.Array) -> Any:
        index = owners.astype(int)
        table = _covariance(params, z, z, index, index, jnp) + JITTER * jnp.eye(len(z))
        root = jnp.linalg.cholesky(table)
        inner = jnp.linalg.cholesky(jnp.eye(len(z)) + root.T @ known @ root)
        half = jax.scipy.linalg.solve_triangular(inner, root.T @ shift, lower=True)
        return jnp.log(jnp.diagonal(inner)).sum() - 0.5 * half @ half

    @jax.jit
    def program(params: jax.Array, *rows: jax.Array) -> Any:
        value, gradient = jax.value_and_grad(loss)(params, *rows)
        return value, gradient, jnp.isfinite(value) & jnp.isfinite(gradient).all()

    return program
