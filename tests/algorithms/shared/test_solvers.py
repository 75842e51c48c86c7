"""Do solvers lower the weighted loss as far as they say, and does a guard keep bad answers out?"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from unalike import ConfigError
from unalike.algorithms import Optimizer, local_sgd
from unalike.algorithms.shared.solvers import (
    LBFGS,
    GradientDescent,
    Guarded,
    Newton,
    Solution,
    make_solver,
    solve_component,
    solver_registry,
)
from unalike.core import pytrees
from unalike.models import Task, linear, mlp
from unalike.theory.mixtures.surrogate_check import whole_client

from .. import naive

L2 = 0.05
START = {"w": 0.1 * jnp.ones((3, 4)), "b": jnp.zeros(3)}


def task():
    return Task.classification(linear(input_shape=(4,), outputs=3), 3, l2=L2)


def problem(count=30):
    split = naive.split([count], 1)
    weights = np.random.default_rng(2).random(count).astype(np.float32)
    return split.x, split.y, weights


def weighted():
    x, y, weights = problem()
    return whole_client(x, y, 10, 6).weighted(jnp.asarray(weights))


def least_value():
    """By an independent minimizer in double precision."""
    x, y, weights = problem()
    rows = np.hstack([x.astype(np.float64), np.ones((len(x), 1))])

    def value(theta):
        theta = theta.reshape(5, 3)
        scores = rows @ theta
        logs = np.log(np.exp(scores).sum(1)) - scores[np.arange(len(y)), y]
        return weights @ logs / len(y) + 0.5 * L2 * (theta**2).sum()

    return minimize(value, np.zeros(15), method="BFGS", options={"gtol": 1e-9}).fun


@pytest.mark.parametrize(
    ("solver", "part"), [(Newton(8), 1e-5), (LBFGS(40), 1e-4), (GradientDescent(60), 1e-2)]
)
def test_full_batch_solvers_come_near_the_minimum(solver, part):
    found = solver.solve(task(), START, weighted(), None)
    room = float(found.objective_start) - least_value()
    assert float(found.objective_end) - least_value() <= part * room
    assert float(found.gradient_end) < float(found.gradient_start)
    assert not bool(found.refused)


def test_reports_are_the_objective_and_the_gradient_s_length():
    x, y, weights = problem()
    found = GradientDescent(1).solve(task(), START, weighted(), None)
    theta = naive.flat(START)
    losses = [naive.loss(theta, x[i : i + 1], y[i : i + 1]) for i in range(len(x))]
    value = weights @ np.array(losses) / len(x) + 0.5 * L2 * (theta**2).sum()
    slopes = [naive.gradient(theta, x[i : i + 1], y[i : i + 1]) for i in range(len(x))]
    slope = np.tensordot(weights, slopes, 1) / len(x) + L2 * theta
    assert float(found.objective_start) == pytest.approx(value, rel=1e-5)
    assert float(found.gradient_start) == pytest.approx(np.linalg.norm(slope), rel=1e-4)


@pytest.mark.exact
def test_sgd_is_local_training():
    optimizer = Optimizer("sgd", 0.3)
    params, report = solve_component(task(), START, weighted(), optimizer)
    assert pytrees.largest_difference(params, local_sgd(task(), START, weighted(), optimizer).params) == 0
    assert float(report["objective_end"]) < float(report["objective_start"])


@dataclass(frozen=True)
class Broken:
    """Hands back what it is told to."""

    value: float

    def solve(self, task, start, data, key):
        spoilt = pytrees.scale(self.value, start)
        return Solution(
            spoilt, jnp.ones(()), task.loss(spoilt, data.all_rows()), *jnp.ones((2,)), jnp.asarray(False)
        )


@pytest.mark.parametrize("value", [float("nan"), 1e4])
def test_a_guard_hands_back_the_start_instead_of_a_bad_answer(value):
    found = Guarded(Broken(value)).solve(task(), START, weighted(), None)
    assert bool(found.refused)
    assert pytrees.largest_difference(found.params, START) == 0
    assert float(found.objective_end) == float(found.objective_start)


def test_a_guard_refuses_steps_that_are_too_long_and_lets_good_ones_pass():
    wild, calm = Optimizer("sgd", 500.0), Optimizer("sgd", 0.1)
    params, report = solve_component(task(), START, weighted(), wild, "guarded:sgd")
    assert report["refused"] == 1
    assert pytrees.largest_difference(params, START) == 0
    params, report = solve_component(task(), START, weighted(), calm, "guarded:sgd")
    assert report["refused"] == 0
    assert pytrees.largest_difference(params, START) > 0


def test_backtracking_never_raises_the_loss_from_any_start():
    for scale in (0.0, 5.0, 50.0):
        for solver in (Newton(1), GradientDescent(1)):
            found = solver.solve(task(), pytrees.scale(scale, START), weighted(), None)
            assert float(found.objective_end) <= float(found.objective_start)


def test_names_make_solvers():
    assert set(solver_registry) == {"sgd", "gradient-descent", "newton", "lbfgs", "guarded"}
    assert make_solver("newton:3") == Newton(3)
    assert make_solver("guarded:lbfgs:4") == Guarded(LBFGS(4))
    with pytest.raises(ConfigError, match="unknown solver 'neton'; did you mean 'newton'"):
        make_solver("neton")


def test_newton_refuses_models_whose_curvature_would_not_fit():
    big = Task.classification(mlp(900, input_shape=(4,), outputs=3), 3)
    params = [{"w": jnp.zeros((900, 4)), "b": jnp.zeros(900)}, {"w": jnp.zeros((3, 900)), "b": jnp.zeros(3)}]
    with pytest.raises(ConfigError, match="at most 3000 parameters"):
        Newton().solve(big, params, weighted(), None)
