"""Are known bounds special cases of that of stale results?"""

import pytest

from unalike.errors import ConfigError
from unalike.theory.asynchrony.objective import Constants
from unalike.theory.asynchrony.planner import TrainingSetup, gap_terms
from unalike.theory.asynchrony.special_cases import (
    central_bound,
    sampled_bound,
    selected_bound,
    shrinking_exponents,
)

COURSE = TrainingSetup(
    aggregations=400, local_steps=5, learning_rate=0.01, residual=2.0, initial_distance=3.0
)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (0.9, 0.1)])
def test_fresh_models_have_the_bound_of_sampling(alpha, beta):
    fresh = Constants(alpha, beta, longest=1.0, largest=0.1, staleness=0, window=1)
    assert sampled_bound(COURSE, 10, alpha, beta) == pytest.approx(gap_terms(fresh, COURSE).total)


def test_a_rule_that_takes_clients_in_turn_adds_its_window():
    assert selected_bound(COURSE, 10, window=1) == sampled_bound(COURSE, 10, 1.0, 0.0)
    extra = selected_bound(COURSE, 10, window=7) - selected_bound(COURSE, 10, window=1)
    assert extra == pytest.approx(COURSE.step * 6 * COURSE.local_steps)


def test_more_clients_have_less_noise_than_one_machine():
    one_step = TrainingSetup(aggregations=400, learning_rate=0.01)
    assert sampled_bound(one_step, 10, 1.0, 0.0) < sampled_bound(one_step, 1, 1.0, 0.0)
    assert sampled_bound(one_step, 1, 1.0, 0.0) == central_bound(one_step)


def test_learning_rates_shrink_faster_than_windows_and_staleness_grow():
    assert shrinking_exponents(0.0, 0.0) == (0.0, 1.0)
    assert shrinking_exponents(0.7, 0.2) == (0.7, 1.0)


@pytest.mark.parametrize("growth", [(1.0, 0.0), (0.0, 1.5), (-0.1, 0.0)])
def test_a_window_as_long_as_training_is_refused(growth):
    with pytest.raises(ConfigError, match="more slowly"):
        shrinking_exponents(*growth)
