"""Is inexactness measured as defined, and do its consequences hold where they are proven?"""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from unalike.algorithms.shared.solvers import GradientDescent, Newton, Solution
from unalike.models import Task, linear
from unalike.theory.mixtures.surrogate_check import whole_client
from unalike_studies.theory.mixtures.inexactness import (
    Audit,
    audit,
    audit_solver,
    condition_number,
    contraction_bound,
    dissimilarity,
    largest_alpha,
    warn_if_uncovered,
)

LINEAR = Task.regression(linear(0, input_shape=(3,), outputs=1), l2=0.1)
START = {"w": jnp.zeros((1, 3))}


def client():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 3)).astype(np.float32) * np.array([1.0, 2.0, 0.5], np.float32)
    return whole_client(x, (x @ [1.0, -2.0, 3.0]).astype(np.float32))


def answer(start, end, first=1.0, last=0.5):
    return Solution(None, *map(jnp.asarray, (start, end, first, last)), jnp.asarray(False))


def test_alpha_is_the_part_of_the_gain_that_is_left():
    found = audit(answer(3.0, 1.5), minimum=1.0, kappa=4.0)
    assert found.alpha == pytest.approx(0.25)
    assert found.gamma == pytest.approx(1.0)
    assert found.consistent
    assert not found.good_enough(beta=1.0)
    assert audit(answer(3.0, 5.0), 1.0, 4.0).alpha > 1


def test_the_condition_number_of_least_squares_is_that_of_its_moments():
    data = client()
    moments = np.asarray(data.x, float).T @ np.asarray(data.x, float) / 20 + 0.1 * np.eye(3)
    assert condition_number(LINEAR, START, data) == pytest.approx(np.linalg.cond(moments), rel=1e-4)


@pytest.mark.parametrize("steps", [1, 3, 10])
def test_gradients_fall_as_much_as_strong_convexity_promises(steps):
    data = client()
    found = audit_solver(GradientDescent(steps), LINEAR, START, data, condition_number(LINEAR, START, data))
    assert 0 <= found.alpha < 1
    assert found.consistent


def test_newton_solves_least_squares_in_one_step():
    data = client()
    found = audit_solver(Newton(1), LINEAR, START, data, condition_number(LINEAR, START, data))
    assert found.alpha < 1e-4


def test_the_bound_on_alpha_and_the_contraction_are_two_sides_of_one_formula():
    assert contraction_bound(largest_alpha(3.0, 1.5), 3.0, 1.5) == pytest.approx(1.0)


def test_dissimilarity_is_one_for_equal_gradients_and_infinite_where_they_cancel():
    assert dissimilarity([[2.0, 1.0]] * 3, np.full(3, 1 / 3)) == pytest.approx(1)
    assert dissimilarity([[1.0, 0.0], [-1.0, 0.0]], [0.5, 0.5]) == math.inf
    assert dissimilarity([[1.0, 1.0], [1.0, -1.0]], [0.5, 0.5]) == pytest.approx(math.sqrt(2))


def test_solvers_that_the_theorem_does_not_cover_are_named_in_a_warning():
    good, bad = Audit(1e-6, 0.1, 2.0), Audit(0.5, 0.9, 2.0)
    assert warn_if_uncovered([good], beta=1.0) == []
    with pytest.warns(UserWarning, match="client 1 first"):
        assert warn_if_uncovered([good, bad], beta=1.0) == [1]
