"""Are the best local steps where the bounds are least, and does the report say what theorems do not?"""

import numpy as np
import pytest

from unalike.advice.local_work import report_local_work
from unalike.errors import ConfigError
from unalike.theory.perturbed_gradient import nonconvex, strongly_convex
from unalike.theory.perturbed_gradient.problem import Perturbed, Problem, Proximal

METHODS = {"fedavg": Proximal(), "fedprox": Proximal(0.3), "perturbed": Perturbed(0.7)}
FLAT = Problem(smoothness=2.0, gradient_variance=4000.0, squared_gradient=2.0, heterogeneity=60.0)
CURVED = Problem(
    smoothness=2.0, convexity=0.5, gradient_variance=4000.0, squared_gradient=2.0, heterogeneity=60.0
)


def report(problem, local_steps=5, rounds=400, target=0.01):
    return {one.name: one for one in report_local_work(METHODS, problem, local_steps, rounds, target)}


@pytest.mark.parametrize("name", METHODS)
def test_the_vanishing_error_is_least_at_the_best_local_steps(name):
    best = report(CURVED)[name].best_local_steps
    steps = np.arange(1, 200)
    # As rounds go to infinity, what is left of the bound is (L/mu) R / t.
    bounds = [
        strongly_convex.published_diminishing_bound(METHODS[name], CURVED, int(e), 10**12) for e in steps
    ]
    found = steps[np.argmin(bounds)]
    assert 1 < found < 199
    assert abs(found - best) <= 1


def test_without_convexity_the_fixed_step_bound_is_least_there():
    best = report(FLAT, rounds=10_000)["perturbed"].best_local_steps
    steps = np.arange(1, 4000)
    bounds = [nonconvex.published_fixed_bound(METHODS["perturbed"], FLAT, int(e), 10_000) for e in steps]
    assert abs(steps[np.argmin(bounds)] - best) <= 1


def test_what_theorems_do_not_say_is_left_out_with_a_sentence():
    flat = report(FLAT)
    assert flat["fedprox"].best_local_steps is None
    assert "no closed form" in flat["fedprox"].note
    assert all(one.gap_left is None and "strongly convex" in one.note for one in flat.values())
    assert "at least two local steps" in report(CURVED, local_steps=1)["fedavg"].note
    assert not any(one.note for one in report(CURVED).values())


def test_lower_bounds_contract_in_the_published_order():
    kept = {name: one.gap_left for name, one in report(CURVED).items()}
    assert kept["fedavg"] == 1 / 4**2
    assert kept["perturbed"] < kept["fedavg"] < kept["fedprox"]


def test_ten_times_smaller_gradients_take_a_hundred_times_the_rounds():
    still = Problem(smoothness=2.0)  # no gradient noise, no G: only the first term
    few, many = (report(still, target=target)["fedavg"] for target in (0.1, 0.01))
    assert many.rounds == pytest.approx(100 * few.rounds)
    assert few.as_dict()["best_local_steps"] is None  # as many as one likes
    with pytest.raises(ConfigError, match="above 0"):
        report(still, target=0)
