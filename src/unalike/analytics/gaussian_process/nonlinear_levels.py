"""NARGP: nonlinear autoregressive multi-fidelity modeling.

Perdikaris, Raissi, Damianou, Lawrence, Karniadakis, Nonlinear Information Fusion Algorithms for
Data-Efficient Multi-Fidelity Modelling (2017). A level is a process over the inputs and what the level below
predicts there, m(x):

    k = k_1(x, x') k_2(m, m') + k_3(x, x')

Here m is its mean (its own uncertainty is left out), and the kernels are RBF. It stands in for deep
multi-fidelity processes (Cutajar et al., 2019), which need far more computing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...typing import Float64s
from .kernels import Kernel
from .likelihood import JITTER, pad_rows
from .maximum_likelihood import BOUNDS, Rows, loss_and_gradient, maximize_likelihood, minimize_from
from .posterior import Posterior

_STARTS = ((1.0, 0.5, 1.0, 0.3, 0.5, 0.01), (1.0, 1.0, 1.0, 0.1, 0.2, 0.05))
"""Signal and lengths (of x and m) of the product, signal and length of the addition, noise."""


@dataclass(frozen=True)
class _NonlinearLevel:
    """A level whose inputs have, as their last column, what the level below predicts."""

    params: Float64s
    inputs: Float64s
    weights: Float64s

    def predict(self, inputs: Float64s) -> Float64s:
        """The mean at such inputs."""
        return np.asarray(_covariance(self.params, inputs, self.inputs, np) @ self.weights)


def predict_nonlinear(levels: Sequence[Rows], x: Float64s) -> Float64s:
    """The mean of the highest level at rows x; inputs and outputs are scaled, cheapest level first."""
    kernel = Kernel("rbf", x.shape[1])
    first = Posterior(kernel, maximize_likelihood(kernel, [levels[0]]).params, *levels[0])
    places = [x, *(rows for rows, _ in levels[1:])]
    below = [first.predict(place).mean for place in places]
    for t, (_, y) in enumerate(levels[1:], start=1):
        inputs = [np.column_stack(pair) for pair in zip(places, below, strict=True)]
        level = _fit_level(inputs[t], y)
        below = [level.predict(each) for each in inputs]
    return below[0]


def _fit_level(inputs: Float64s, y: Float64s) -> _NonlinearLevel:
    rows = pad_rows(inputs, y)

    def objective(params: Float64s) -> tuple[float, Float64s]:
        return loss_and_gradient(_likelihood(), params, *rows)

    best = minimize_from([np.log(start) for start in _STARTS], objective, BOUNDS).params
    noise = np.exp(2 * best[5]) + JITTER
    factor = cho_factor(_covariance(best, inputs, inputs, np) + noise * np.eye(len(y)), lower=True)
    return _NonlinearLevel(best, inputs, cho_solve(factor, y))


def _covariance(params: Any, a: Any, b: Any, xp: Any) -> Any:
    def correlation(left: Any, right: Any) -> Any:
        return xp.exp(-0.5 * ((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=-1))

    s1, lx, lm, s3, l3 = (xp.exp(params[j]) for j in range(5))
    product = correlation(a[:, :-1] / lx, b[:, :-1] / lx) * correlation(a[:, -1:] / lm, b[:, -1:] / lm)
    return s1**2 * product + s3**2 * correlation(a[:, :-1] / l3, b[:, :-1] / l3)


@lru_cache(maxsize=1)
def _likelihood() -> Any:
    def loss(params: jax.Array, x: jax.Array, y: jax.Array, real: jax.Array) -> jax.Array:
        table = _covariance(params, x, x, jnp) * real[:, None] * real[None, :]
        table += jnp.diag((jnp.exp(2 * params[5]) + JITTER) * real + (1 - real))
        factor = jnp.linalg.cholesky(table)
        half = jax.scipy.linalg.solve_triangular(factor, y * real, lower=True)
        return 0.5 * half @ half + jnp.log(jnp.diagonal(factor)).sum()

    @jax.jit
    def program(params: jax.Array, *rows: jax.Array) -> Any:
        value, gradient = jax.value_and_grad(loss)(params, *rows)
        return value, gradient, jnp.isfinite(value) & jnp.isfinite(gradient).all()

    return program
