"""Limits of both weightings for short steps and long training: minima without noise.

Corrected weights minimize the loss that was asked for, FP = sum_i p_i L_i, identical ones the surrogate SP =
sum_i q_i L_i (Fraboni, Vidal, Kameni and Lorenzi, 2023). What correcting is worth in the end is FP at the
second minimum less FP at the first; L-BFGS on all rows comes as near to both as the same number of iterations
allows.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jax.flatten_util import ravel_pytree

from unalike.core.pixels import as_floats
from unalike.theory.asynchrony.objective import surrogate
from unalike.timing import Clients
from unalike.typing import Float64s

from ..trainings import Trainings, describe_training
from .data import Pair, Problem, policy

ITERATIONS = 300


def limit_pair(problem: Problem, iterations: int = ITERATIONS, hardware: str = "spread:80") -> Pair:
    """Every client's loss where identical and where corrected weights lead; what is finished is kept."""
    importance = problem.federation.importance
    minimized = surrogate(policy("async", hardware, "identical"), Clients(importance))
    identical, corrected = (
        cached_minimal_losses(problem, w, iterations) for w in (minimized.expected, importance)
    )
    return Pair(identical, corrected, minimized)


def cached_minimal_losses(problem: Problem, weights: Float64s, iterations: int) -> Float64s:
    """The same as :func:`minimal_losses`, which is not repeated."""
    decides = {
        **describe_training(problem.federation, problem.task),
        **{"minimizes": weights.tolist(), "iterations": iterations},
    }
    kept = problem.trainings or Trainings()
    return kept.numbers(decides, lambda: minimal_losses(problem, weights, iterations))


def minimal_losses(problem: Problem, weights: Float64s, iterations: int) -> Float64s:
    """Every client's loss at the model that L-BFGS finds for their weighted sum."""
    train, task = problem.federation.train, problem.task
    x, y, owners = jnp.asarray(as_floats(train.x)), jnp.asarray(train.y), jnp.asarray(train.owners)
    start, unflatten = ravel_pytree(task.init(jax.random.key(0)))

    @jax.jit
    def of_clients(flat: jax.Array) -> jax.Array:
        rows = task.losses(unflatten(flat), x, y)
        return jax.ops.segment_sum(rows, owners, len(train.sizes)) / jnp.asarray(train.sizes)

    objective = jax.jit(jax.value_and_grad(lambda flat: jnp.asarray(weights, jnp.float32) @ of_clients(flat)))

    def both(flat: Float64s) -> tuple[float, Float64s]:
        value, gradient = objective(jnp.asarray(flat, jnp.float32))
        return float(value), np.asarray(gradient, np.float64)

    found = scipy.optimize.minimize(
        both, np.asarray(start, np.float64), jac=True, method="L-BFGS-B", options={"maxiter": iterations}
    )
    return np.asarray(of_clients(jnp.asarray(found.x, jnp.float32)), np.float64)
