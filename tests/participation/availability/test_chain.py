"""Two numbers and a 2 x 2 matrix say the same about a client."""

import warnings

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation.availability import (
    from_transitions,
    lowest_correlation,
    mean_run,
    transition_matrix,
)
from unalike.participation.availability.chain import feasible

RNG = np.random.default_rng(7)


def some_chains(count=200):
    active = RNG.uniform(0.01, 0.99, count)
    lowest = lowest_correlation(active)
    return active, lowest + (0.999 - lowest) * RNG.random(count)


def test_numbers_and_matrix_convert_into_each_other():
    for active, correlation in zip(*some_chains(), strict=True):
        matrix = transition_matrix(active, correlation)
        np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-15)
        assert matrix.min() >= -1e-15
        np.testing.assert_allclose(
            from_transitions(matrix[0, 0], matrix[1, 1]), (active, correlation), atol=1e-12
        )


def test_active_is_stationary_and_correlation_is_the_second_eigenvalue():
    for active, correlation in zip(*some_chains(50), strict=True):
        matrix = transition_matrix(active, correlation)
        law = np.array([1 - active, active])
        np.testing.assert_allclose(law @ matrix, law, atol=1e-14)
        np.testing.assert_allclose(sorted(np.linalg.eigvals(matrix)), [correlation, 1], atol=1e-12)


def test_correlation_is_the_autocorrelation_of_one_round_with_the_next():
    for active, correlation in zip(*some_chains(50), strict=True):
        both = active * transition_matrix(active, correlation)[1, 1]
        autocorrelation = (both - active**2) / (active * (1 - active))
        assert autocorrelation == pytest.approx(correlation, abs=1e-12)


def test_mean_runs_are_the_means_of_geometric_laws():
    for active, correlation in zip(*some_chains(50), strict=True):
        matrix = transition_matrix(active, correlation)
        there, away = mean_run(active, correlation)
        assert there == pytest.approx(1 / matrix[1, 0], rel=1e-9)
        assert away == pytest.approx(1 / matrix[0, 1], rel=1e-9)
        assert there / (there + away) == pytest.approx(active)  # renewal theorem


def test_the_published_example_waits_a_hundred_rounds():
    there, away = mean_run(0.1, 0.9)
    assert (there, away) == (pytest.approx(100 / 9), pytest.approx(100))


def test_the_lowest_correlation_is_the_published_one_and_brings_a_probability_to_zero():
    active = RNG.uniform(0.01, 0.99, 100)
    published = np.maximum(1 - 1 / active, 1 - 1 / (1 - active))
    np.testing.assert_allclose(lowest_correlation(active), published, atol=1e-12)
    for pi in active:
        matrix = transition_matrix(pi, float(lowest_correlation(pi)))
        assert min(matrix[0, 0], matrix[1, 1]) == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("active", [0.0, 1.0])
def test_who_is_always_or_never_there_has_no_correlation_and_no_end(active):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert feasible(active, -0.9)[1] == 0
        np.testing.assert_array_equal(transition_matrix(active, 0.9), [[1 - active, active]] * 2)
        assert sorted(map(float, mean_run(active, 0.5))) == [1.0, np.inf]


def test_a_correlation_that_no_chain_has_is_raised_with_one_warning():
    with pytest.warns(
        UserWarning, match=r"2 client\(s\).*client 1, for one, got -0.25 instead of -0.9"
    ) as seen:
        _, correlation = feasible([0.5, 0.8, 0.2], [-0.9, -0.9, -0.5])
    assert len(seen) == 1
    np.testing.assert_allclose(correlation, [-0.9, -0.25, -0.25])


@pytest.mark.parametrize("active", [-0.1, 1.1, np.nan, np.inf])
def test_availability_must_be_a_probability(active):
    with pytest.raises(ConfigError, match=r"active must be between 0 and 1, but is .* for client 1"):
        feasible([0.5, active], 0.0)


@pytest.mark.parametrize("correlation", [1.0, 1.5, -1.01, np.nan])
def test_correlation_must_be_below_one(correlation):
    with pytest.raises(ConfigError, match="correlation must be at least -1 and below 1, but is"):
        transition_matrix(0.5, correlation)


def test_words_and_tables_of_different_sizes_are_refused():
    with pytest.raises(ConfigError, match="active and correlation must be numbers"):
        feasible("often", 0.0)
    with pytest.raises(ConfigError, match="one number per client for both"):
        feasible([0.1, 0.2], [0.1, 0.2, 0.3])


def test_probabilities_of_staying_must_make_sense():
    with pytest.raises(ConfigError, match=r"probability of staying must be between 0 and 1, but is 1.2"):
        from_transitions(1.2, 0.5)
    with pytest.raises(ConfigError, match="never comes and never leaves"):
        from_transitions([0.5, 1.0], [0.5, 1.0])
