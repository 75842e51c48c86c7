"""Solvers of local work.

The weighted problem of one component, Phi(theta) = mean_i weight_i loss(theta; i), may be given to any
solver, client by client, as long as its answer is better than its start by a fixed part (Marfoq, Neglia,
Bellet, Kameni, Vidal, Federated Multi-Task Learning under a Mixture of Distributions, 2021):

    Phi(out) - min Phi  <=  alpha (Phi(start) - min Phi),      0 < alpha < 1.

Every solver reports the objective and the length of its gradient before and after; `guarded` ones hand back
their start where the answer is not finite or worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jax.flatten_util import ravel_pytree

from ...core.pytrees import all_finite, squared_norm, where
from ...core.registry import Registry
from ...errors import ConfigError
from ...models import Task
from ...typing import Params, PyTree
from .client_data import ClientData
from .local_sgd import local_sgd
from .optimizers import Optimizer

MOST_PARAMETERS = 3000
"""More would make a Hessian too large."""
HALVINGS = 30


class Solution(NamedTuple):
    """Where a solver ended, and what it achieved."""

    params: Params
    objective_start: jax.Array
    objective_end: jax.Array
    gradient_start: jax.Array
    """The length of the gradient."""
    gradient_end: jax.Array
    refused: jax.Array
    """Whether a guard handed back the start."""

    @property
    def report(self) -> dict[str, jax.Array]:
        """The numbers alone, to be recorded."""
        return {
            name: jnp.asarray(value, jnp.float32)
            for name, value in self._asdict().items()
            if name != "params"
        }


class Solver(Protocol):
    """Lowers the weighted loss of a client's rows."""

    def solve(self, task: Task, start: Params, data: ClientData, key: jax.Array) -> Solution:
        """From a start; `data` has the weights of its rows."""


solver_registry: Registry[Solver] = Registry("solver")


@solver_registry.add("sgd")
@dataclass(frozen=True)
class SGD:
    """The method's own optimizer over the planned mini-batches."""

    optimizer: Optimizer = field(default_factory=Optimizer)

    def solve(self, task: Task, start: Params, data: ClientData, key: jax.Array) -> Solution:
        """Ordinary local training."""
        return evaluate_solution(task, start, local_sgd(task, start, data, self.optimizer).params, data)


@solver_registry.add("gradient-descent")
@dataclass(frozen=True)
class GradientDescent:
    """Full-batch descent whose steps are halved until the loss falls; `gradient-descent:20` takes 20."""

    steps: int = 10

    def solve(self, task: Task, start: Params, data: ClientData, key: jax.Array) -> Solution:
        """Steps along the gradient."""
        flat, objective, back = _flatten(task, start, data)

        def step(_: int, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            theta, length = carry
            value, slope = jax.value_and_grad(objective)(theta)
            length = backtrack(objective, theta, -slope, value, slope, 2 * length)
            return theta - length * slope, jnp.maximum(length, 1e-6)

        theta, _ = lax.fori_loop(0, self.steps, step, (flat, jnp.ones_like(flat[0])))
        return evaluate_solution(task, start, back(theta), data)


@solver_registry.add("newton")
@dataclass(frozen=True)
class Newton:
    """Newton's method with backtracking, for small models such as linear ones; `newton:5` takes 5 steps."""

    steps: int = 5
    damping: float = 1e-6
    """Added to the curvature, in parts of its mean."""

    def solve(self, task: Task, start: Params, data: ClientData, key: jax.Array) -> Solution:
        """Steps to the minimum of the local parabola."""
        flat, objective, back = _flatten(task, start, data)
        if flat.size > MOST_PARAMETERS:
            raise ConfigError(
                f"solver 'newton' is for at most {MOST_PARAMETERS} parameters, but there are {flat.size}; "
                "use lbfgs."
            )

        def step(_: int, theta: jax.Array) -> jax.Array:
            value, slope = jax.value_and_grad(objective)(theta)
            curvature = jax.hessian(objective)(theta)
            lift = self.damping * (jnp.trace(curvature) / flat.size + 1e-6)
            direction = -jnp.linalg.solve(curvature + lift * jnp.eye(flat.size), slope)
            return theta + backtrack(objective, theta, direction, value, slope, 1.0) * direction

        return evaluate_solution(task, start, back(lax.fori_loop(0, self.steps, step, flat)), data)


@solver_registry.add("lbfgs")
@dataclass(frozen=True)
class LBFGS:
    """Quasi-Newton steps with a line search (optax.lbfgs); `lbfgs:20` takes 20."""

    steps: int = 10

    def solve(self, task: Task, start: Params, data: ClientData, key: jax.Array) -> Solution:
        """A fixed number of iterations."""
        flat, objective, back = _flatten(task, start, data)
        method = optax.lbfgs()
        evaluate = optax.value_and_grad_from_state(objective)

        def step(_: int, carry: tuple[jax.Array, PyTree]) -> tuple[jax.Array, PyTree]:
            theta, state = carry
            value, slope = evaluate(theta, state=state)
            updates, state = method.update(slope, state, theta, value=value, grad=slope, value_fn=objective)
            return optax.apply_updates(theta, updates), state

        theta, _ = lax.fori_loop(0, self.steps, step, (flat, method.init(flat)))
        return evaluate_solution(task, start, back(theta), data)


@dataclass(frozen=True)
class Guarded:
    """Any solver, whose answer is refused where it is not finite or worse than its start."""

    inner: Solver

    def solve(self, task: Task, start: Params, data: ClientData, key: jax.Array) -> Solution:
        """The answer, or the start."""
        found = self.inner.solve(task, start, data, key)
        better = found.objective_end <= found.objective_start
        fine = all_finite(found.params) & jnp.isfinite(found.objective_end) & better
        return Solution(
            where(fine, found.params, start),
            found.objective_start,
            jnp.where(fine, found.objective_end, found.objective_start),
            found.gradient_start,
            jnp.where(fine, found.gradient_end, found.gradient_start),
            ~fine,
        )


@solver_registry.add("guarded")
def guarded(solver: str = "sgd", *, optimizer: Optimizer | None = None) -> Guarded:
    """Keeps the start where a solver makes it worse: `guarded:lbfgs`."""
    return Guarded(make_solver(solver, optimizer))


def make_solver(name: str, optimizer: Optimizer | None = None) -> Solver:
    """A solver by name; the optimizer is that of `sgd`."""
    return solver_registry.make(name, optimizer=optimizer or Optimizer())


def solve_component(
    task: Task, start: Params, data: ClientData, optimizer: Optimizer, solver_name: str = "sgd"
) -> tuple[PyTree, dict[str, jax.Array]]:
    """One component's parameters after the local work on weighted rows, and what it achieved.

    For component m of a mixture, call it with `data.weighted(chances[:, m])`.
    """
    found = make_solver(solver_name, optimizer).solve(task, start, data, data.key)
    return found.params, found.report


def evaluate_solution(task: Task, start: Params, end: PyTree, data: ClientData) -> Solution:
    """The objective and its gradient at the start and at the end."""
    rows = data.all_rows()
    (before, slope), (after, last) = (jax.value_and_grad(task.loss)(p, rows) for p in (start, end))
    first, final = (jnp.sqrt(squared_norm(one)) for one in (slope, last))
    return Solution(end, before, after, first, final, jnp.asarray(False))


def backtrack(
    objective: Callable[[jax.Array], jax.Array],
    theta: jax.Array,
    direction: jax.Array,
    value: jax.Array,
    slope: jax.Array,
    length: jax.Array | float,
) -> jax.Array:
    """The first of length, length/2, ... that lowers the objective enough (Armijo); 0 if none does."""
    wanted = 1e-4 * jnp.vdot(slope, direction)

    def lowers(t: jax.Array) -> jax.Array:
        return objective(theta + t * direction) <= value + t * wanted

    def more(carry: tuple[jax.Array, jax.Array]) -> jax.Array:
        return ~lowers(carry[0]) & (carry[1] < HALVINGS)

    first = (jnp.asarray(length, theta.dtype), jnp.asarray(0))
    t, turns = lax.while_loop(more, lambda carry: (carry[0] / 2, carry[1] + 1), first)
    return jnp.where(turns < HALVINGS, t, 0.0)


def _flatten(
    task: Task, start: Params, data: ClientData
) -> tuple[jax.Array, Callable[[jax.Array], jax.Array], Callable[[jax.Array], PyTree]]:
    """The start as one vector, the objective of such a vector, and the way back."""
    flat, back = ravel_pytree(start)
    rows = data.all_rows()
    return flat, lambda theta: task.loss(back(theta), rows), back
