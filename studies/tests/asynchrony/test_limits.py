"""Do both kinds of weights lead to the minimum of what they minimize?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.data import load
from unalike_studies.asynchrony.data import make_problem
from unalike_studies.asynchrony.limits import limit_pair, minimal_losses
from unalike_studies.trainings import Trainings


@pytest.fixture(scope="module")
def problem():
    """Classes that overlap, so that no model serves all rows."""
    federation = load(
        "gaussians:10,2,1", partition="dirichlet:0.1", clients=4, samples=200, seed=0, test_fraction=0.0
    )
    return replace(make_problem(federation), trainings=Trainings())


@pytest.fixture(scope="module")
def pair(problem):
    return limit_pair(problem, 60)


def test_each_is_ahead_on_what_it_minimizes(pair):
    true, surrogate, _ = pair.orders
    assert true
    assert surrogate
    assert pair.gap > 0


def test_clients_of_one_speed_gain_nothing(problem):
    assert limit_pair(problem, 60, "equal").gap == pytest.approx(0.0, abs=1e-4)


def test_more_iterations_come_nearer(problem, pair):
    importance = problem.federation.importance
    losses = [float(importance @ minimal_losses(problem, importance, n)) for n in (2, 10)]
    assert losses[0] > losses[1] > float(importance @ pair.corrected)


def test_what_is_found_is_kept(problem, pair):
    assert problem.trainings.finished >= 2
    np.testing.assert_array_equal(limit_pair(problem, 60).identical, pair.identical)
