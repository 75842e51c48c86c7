"""Co-kriging: an expensive simulation predicted with the help of a cheap one, from pooled rows.

Kennedy and O'Hagan, Predicting the Output from a Complex Computer Code When Fast Approximations Are
Available (2000), in the recursive form: level t is fitted on what the level below predicts,

    f_t(x) = rho_t m_{t-1}(x) + delta_t(x),        delta_t a Gaussian process of its own

with rho profiled out of the likelihood: rho = m' C^-1 y / m' C^-1 m. All levels' rows are in one place, which
is what a federation avoids; where that is allowed and levels are alike, this usually wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...typing import Float64s
from .kernels import Kernel
from .likelihood import factorize, negative_log_likelihood, pad_rows
from .maximum_likelihood import BOUNDS, STARTS, Rows, loss_and_gradient, maximize_likelihood, minimize_from
from .posterior import Posterior


@dataclass(frozen=True)
class Level:
    """One level of fidelity: how much of the level below it keeps, and what it adds."""

    rho: float
    residual: Posterior


@dataclass(frozen=True)
class CoKriging:
    """Levels on top of each other, cheapest first."""

    levels: tuple[Level, ...]

    def predict(self, x: Float64s) -> Float64s:
        """The mean of the highest level."""
        mean = np.zeros(len(x))
        for level in self.levels:
            mean = level.rho * mean + level.residual.predict(x).mean
        return mean


def fit_co_kriging(kernel: Kernel, levels: Sequence[Rows]) -> CoKriging:
    """Fit every level on the prediction of the one below it."""
    x, y = levels[0]
    best = maximize_likelihood(kernel, [(x, y)])
    made = CoKriging((Level(0.0, Posterior(kernel, best.params, x, y)),))
    for x, y in levels[1:]:
        below = made.predict(x)
        params, rho = _fit_level(kernel, x, y, below)
        made = CoKriging((*made.levels, Level(rho, Posterior(kernel, params, x, y - rho * below))))
    return made


def _fit_level(kernel: Kernel, x: Float64s, y: Float64s, below: Float64s) -> tuple[Float64s, float]:
    """Hyper-parameters of the residual, and rho, that explain a level best."""
    rows, outputs, real = pad_rows(x, y)
    given = rows, outputs, np.pad(below, (0, len(outputs) - len(y))), real

    def objective(params: Float64s) -> tuple[float, Float64s]:
        return loss_and_gradient(_profile_likelihood(kernel), params, *given)

    best = minimize_from([kernel.vector(*start) for start in STARTS], objective, BOUNDS)
    return best.params, _share(kernel, best.params, x, y, below)


@lru_cache(maxsize=16)
def _profile_likelihood(kernel: Kernel) -> Any:
    """Loss and gradient at the best rho; by the envelope theorem rho's own change does not matter."""

    @jax.jit
    def program(params: jax.Array, x: jax.Array, y: jax.Array, below: jax.Array, real: jax.Array) -> Any:
        smooth = kernel.covariance(params, x, x) * real[:, None] * real[None, :]
        diagonal = jnp.exp(2 * params[kernel.noise]) * real + (1 - real)
        factor, _ = factorize(smooth, diagonal, kernel.signal_variance(params) * real)
        solved = jax.scipy.linalg.cho_solve((factor, True), jnp.stack([y, below], axis=1))
        rho = below @ solved[:, 0] / jnp.maximum(below @ solved[:, 1], 1e-12)
        found = negative_log_likelihood(kernel, params, x, y - rho * below, real)
        return found.loss, found.gradient, found.found & jnp.isfinite(rho)

    return program


def _share(kernel: Kernel, params: Float64s, x: Float64s, y: Float64s, below: Float64s) -> float:
    """rho by generalized least squares."""
    ours, theirs = (Posterior(kernel, params, x, part).whitened() for part in (y, below))
    return float(theirs @ ours) / max(float(theirs @ theirs), 1e-12)
