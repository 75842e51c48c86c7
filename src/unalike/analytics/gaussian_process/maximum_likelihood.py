"""Maximum likelihood of hyper-parameters on pooled rows: L-BFGS from several starts.

    min_u  sum_k L_k(u)        over one client (a process of its own) or several (experts that share a prior)

What a client could do alone, without a federation; stronger than the same few steps of gradient descent,
and not free of local minima: from a bad start everything is noise, hence several starts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from ...core.precision import precision
from ...errors import ConfigError
from ...typing import Float64s
from .kernels import Kernel
from .likelihood import negative_log_likelihood, pad_rows

Rows = tuple[Float64s, Float64s]
Objective = Callable[[Float64s], tuple[float, Float64s]]
STARTS = ((1.0, 0.1, 0.5), (1.0, 0.1, 0.1), (1.0, 0.01, 1.0), (1.0, 0.3, 0.2))
"""Signal, noise and length."""
BOUNDS = (1e-3, 1e2)


class Minimum(NamedTuple):
    """The best point of several descents."""

    params: Float64s
    loss: float


def maximize_likelihood(
    kernel: Kernel,
    clients: Sequence[Rows],
    starts: Sequence[tuple[float, float, float]] = STARTS,
    bounds: tuple[float, float] = BOUNDS,
) -> Minimum:
    """The hyper-parameters (a log vector) that explain all clients' rows best."""
    room = max(len(y) for _, y in clients)
    rows = [pad_rows(x, y, -(-room // 32) * 32) for x, y in clients]
    stacked = tuple(np.stack(part) for part in zip(*rows, strict=True))

    def objective(params: Float64s) -> tuple[float, Float64s]:
        return loss_and_gradient(_sum_losses(kernel), params, *stacked)

    return minimize_from([kernel.vector(*start) for start in starts], objective, bounds)


def refine_likelihood(kernel: Kernel, params: Float64s, rows: Rows, iterations: int) -> Minimum:
    """A few iterations from given hyper-parameters, on one client's rows."""
    if iterations < 0:
        raise ConfigError(f"iterations must not be negative, but are {iterations}.")
    given = tuple(part[None] for part in pad_rows(*rows))
    low, high = np.log(BOUNDS)
    start = np.clip(params, low, high)

    def objective(point: Float64s) -> tuple[float, Float64s]:
        return loss_and_gradient(_sum_losses(kernel), point, *given)

    if not iterations or not len(rows[1]):
        return Minimum(start, objective(start)[0])
    return minimize_from([start], objective, BOUNDS, iterations)


def minimize_from(
    starts: Sequence[Float64s], objective: Objective, bounds: tuple[float, float], iterations: int = 200
) -> Minimum:
    """The best of several descents by L-BFGS within bounds (of what the logarithm is taken of)."""
    box = [tuple(np.log(bounds))] * len(starts[0])
    with threadpool_limits(1, "blas"):  # for matrices of some hundred rows more threads only wait
        found = [
            minimize(
                objective, start, jac=True, method="L-BFGS-B", bounds=box, options={"maxiter": iterations}
            )
            for start in starts
        ]
    best = min(found, key=lambda result: result.fun)
    return Minimum(np.asarray(best.x), float(best.fun))


@lru_cache(maxsize=16)
def _sum_losses(kernel: Kernel) -> Any:
    @jax.jit
    def program(params: jax.Array, x: jax.Array, y: jax.Array, real: jax.Array) -> Any:
        each = jax.lax.map(lambda rows: negative_log_likelihood(kernel, params, *rows), (x, y, real))
        return each.loss.sum(), each.gradient.sum(axis=0), each.found.all()

    return program


def loss_and_gradient(program: Any, params: Float64s, *rows: Float64s) -> tuple[float, Float64s]:
    """What L-BFGS wants; a point without a Cholesky factor is so bad that it turns back."""
    with precision(double=True):
        loss, gradient, found = program(jnp.asarray(params), *map(jnp.asarray, rows))
        if not found:
            return 1e10, np.zeros_like(params)
        return float(loss), np.asarray(gradient)
