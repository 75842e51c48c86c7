"""Do the bounds on learning from a stream say what the formulas say?"""

import math

import numpy as np
import pytest

from unalike.data.streams.optimal_importance import optimal_importance, psi, share_out
from unalike.data.streams.realized_weights import client_totals, gradient_variability
from unalike.errors import ConfigError
from unalike_studies.theory.streams.bounds import (
    Problem,
    coefficients,
    discrepancy_bound,
    drifting_importance,
    error_bound,
    generalization_bound,
    optimization_bound,
    variability_bound,
)

PROBLEM = Problem(
    largest_loss=2.0, smoothness=0.5, diameter=3.0, complexity=20.0, rows=5000, rounds=400, discrepancy=0.5
)
SHARES, FRESH = np.array([0.1, 0.1, 0.4, 0.4]), np.array([False, False, True, True])


def test_the_ratio_is_the_exact_one():
    sigma, logarithm = 2 * math.sqrt(2), math.sqrt(1 + math.log(5000 / 20))
    exact = 2 * (0.5 + 10 * logarithm * math.sqrt(20 / 5000)) / (sigma * math.sqrt(2) * (3 + 2 / 20))
    assert coefficients(PROBLEM, 2).ratio == pytest.approx(exact)
    assert coefficients(PROBLEM, 2, noise=0.0).ratio == math.inf


def test_psi_lies_above_the_bound_and_falls_where_it_falls():
    """psi replaces the distance from the target by a root that is never smaller."""
    c1, c2 = coefficients(PROBLEM, 2)
    rest = optimization_bound(PROBLEM, 0.0)
    for h in np.linspace(0, 1, 11):
        p = share_out(h, SHARES, FRESH)
        assert error_bound(PROBLEM, p, SHARES, FRESH) <= rest + c1 * psi(p, SHARES, FRESH, c2 / c1) + 1e-9
    best = optimal_importance(SHARES, FRESH, c2 / c1)
    assert psi(best, SHARES, FRESH, c2 / c1) <= psi(SHARES, SHARES, FRESH, c2 / c1)


def test_more_rounds_leave_what_varies():
    forever = Problem(largest_loss=1.0, diameter=2.0, rows=10, rounds=10**12)
    assert optimization_bound(forever, 0.3) == pytest.approx(0.6, abs=1e-4)
    assert optimization_bound(forever, 0.0) < 1e-4


@pytest.mark.parametrize("variability", [0.5, 2.0, 5.0, 20.0])
def test_the_bound_holds_for_any_variability(variability):
    """(G.741) with the step min(1, 1/s) / sqrt(T) of the theorem: the start costs D^2 / (2 T step)."""
    problem = Problem(largest_loss=1.0, diameter=3.0, rows=10, rounds=100)
    step = min(1.0, 1 / variability) / math.sqrt(100)
    start = problem.diameter**2 / (2 * 100 * step)
    rest = optimization_bound(problem, variability) - start
    g = problem.largest_gradient
    assert rest == pytest.approx(3 * variability + (variability + 2.5 * g * g) / 10)


def test_several_local_steps_cost_more():
    one, five = (Problem(largest_loss=1.0, rows=10, rounds=5, local_steps=steps) for steps in (1, 5))
    gap = optimization_bound(five, 0.1) - optimization_bound(one, 0.1)
    g = math.sqrt(2)
    assert gap == pytest.approx(g * math.sqrt(1.6) / math.sqrt(5) + 2 * 2 * 0.8 / 5**1.5)


def test_fewer_effective_rows_generalize_worse():
    assert generalization_bound(PROBLEM, 1000) > generalization_bound(PROBLEM, 5000)
    assert discrepancy_bound(SHARES, SHARES, 9.0) == 0


def test_the_variability_of_a_drawn_stream_is_below_its_bound():
    rng = np.random.default_rng(0)
    importance, fresh, rounds = np.array([0.4, 0.3, 0.3]), np.array([False, True, True]), 200
    owners = np.repeat([0, 1, 2], [50, rounds, rounds])
    weights = np.zeros((rounds, len(owners)))
    weights[:, :50] = 0.4 / 50
    for t in range(rounds):
        weights[t, [50 + t, 50 + rounds + t]] = 0.3
    gradients = rng.choice([-1.0, 1.0], (len(owners), 1))
    measured = gradient_variability(weights, gradients)
    assert 0 < measured <= variability_bound(importance, fresh, 1.0) ** 2
    assert drifting_importance(client_totals(weights, owners, 3)) == pytest.approx(0)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"largest_loss": 0.0}, "largest_loss must be above 0"),
        ({"discrepancy": -1.0}, "discrepancy must be at least 0"),
        ({"complexity": 1e6}, "more rows"),
        ({"diameter": math.nan}, "diameter must be"),
    ],
)
def test_a_problem_that_makes_no_sense_is_refused(wrong, sentence):
    with pytest.raises(ConfigError, match=sentence):
        Problem(**{"largest_loss": 1.0, "rows": 100, **wrong})
