"""Are the clients on which FedEM is judged what they are said to be?"""

import numpy as np
import pytest
from scipy.special import expit

from unalike.data.sources.mixture import draw_mixture
from unalike_studies.fedem import data
from unalike_studies.shared.summaries import score_of


def test_the_slope_of_the_objective_is_what_differences_give():
    problem, theta, weights, _ = data.draw_problem(0)
    direction = np.random.default_rng(0).normal(size=theta.shape)
    ends = [problem.objective(theta + h * direction, weights) for h in (1e-5, -1e-5)]
    slope = (data.slope_of(problem, theta, weights) * direction).sum()
    assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(slope, abs=1e-8)


@pytest.fixture(scope="module")
def problem():
    return data.synthetic(3, clients=8, dimension=5, test_rows=400)


def test_problems_keep_the_training_rows_of_the_named_data_set(problem):
    drawn = draw_mixture(3, 5, 0.4, clients=8, seed=3)
    assert (problem.federation.train.x == drawn.x).all()
    assert (problem.federation.train.y == drawn.y).all()
    assert (problem.federation.test.sizes == 400).all()


def test_test_rows_follow_the_same_law_as_training_rows(problem):
    """The chance of a label given its row, averaged, is the share of that label."""
    truth, test = problem.truth, problem.federation.test
    raw = test.x.astype(float) @ truth.models.T
    noise = np.random.default_rng(0).standard_normal(500)
    chance = expit(raw[..., None] + noise).mean(-1)
    mixed = (chance * truth.shares[test.owners]).sum(1)
    assert abs(test.y.mean() - mixed.mean()) < 0.03


def test_nobody_beats_the_best_possible_predictor_by_more_than_luck(problem):
    test, truth = problem.federation.test, problem.truth
    single = (test.x @ truth.models[0] > 0) == test.y
    assert data.best_possible(problem).mean > 100 * single.mean()


def test_clients_count_by_training_rows_and_the_decile_is_a_client(problem):
    sizes = problem.federation.train.sizes
    accuracy = np.linspace(0.5, 0.9, len(sizes))
    found = score_of(accuracy, problem.federation)
    assert found.mean == pytest.approx(100 * np.average(accuracy, weights=sizes))
    assert found.decile == pytest.approx(100 * accuracy[max(1, len(sizes) // 10) - 1])


def test_choosing_settings_never_sees_test_rows(problem):
    kept = problem.held_out().federation
    assert kept.test is problem.federation.test
    assert kept.validation.sizes.sum() > 0
    assert kept.train.sizes.sum() + kept.validation.sizes.sum() == problem.federation.train.sizes.sum()


def test_the_best_setting_on_held_out_rows_is_chosen(problem):
    """A rate of zero learns nothing."""
    rate = data.tune_setting(problem, lambda r: problem.algorithm("fedavg", r, 5), (0.0, 0.5), 5)
    assert rate == 0.5
