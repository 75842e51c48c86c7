"""Does c2/c1 follow from what clients report?"""

import math

import pytest

from unalike.data.streams.bound_constants import Constants, LocalReport
from unalike.data.streams.optimal_importance import Terms
from unalike.errors import ConfigError
from unalike_studies.theory.streams.bounds import Problem, coefficients

CIFAR = Constants(1.0, 5.5, 2.3, 3_353_034, 500_000)


def test_the_formula():
    assert CIFAR.ratio(25) == pytest.approx((2.3 + math.sqrt(3_353_034 / 500_000)) / (5.5 * 5))
    assert CIFAR.kappa == pytest.approx(5 * CIFAR.ratio(25))
    assert CIFAR.terms(25) == pytest.approx(Terms(27.5, 2.3, math.sqrt(3_353_034 / 500_000)))


def test_it_is_the_exact_ratio_after_the_four_approximations():
    """The root of the logarithm is 2, sigma_0 = 2 G, the discrepancy is B, rounds without end."""
    b, d, n = 2.3, 1_000.0, 50_000
    dimension = d / (10 * b) ** 2
    found = Constants(3.0, math.sqrt(2 * b), b, int(d), n).ratio(4)
    problem = Problem(
        largest_loss=b, diameter=3.0, complexity=dimension, rows=n, rounds=10**15, discrepancy=b
    )
    exact = coefficients(problem, 4).ratio
    logarithm = math.sqrt(1 + math.log(n / dimension))
    corrected = (b + math.sqrt(d / n) * logarithm / 2) / (b + math.sqrt(d / n))
    assert exact == pytest.approx(found * corrected, rel=1e-6)


def test_the_largest_report_counts_and_no_movement_means_no_noise():
    reports = [LocalReport(0.0, 2.0, 0.5), LocalReport(0.0, 3.0, 0.7)]
    still = Constants.from_reports(reports, 21, 200)
    assert (still.gradient, still.loss) == (3.0, 0.7)
    assert still.ratio(3) == math.inf


def test_more_parameters_than_the_rows_can_bear_are_noticed():
    assert "the bound is empty" in Constants(1.0, 1.0, 0.1, 1000, 900).warning
    assert Constants(1.0, 1.0, 2.3, 1000, 900).warning == ""


def test_mistakes_are_refused():
    with pytest.raises(ConfigError, match="no client reports"):
        Constants.from_reports([], 1, 1)
    with pytest.raises(ConfigError, match="without fresh clients"):
        CIFAR.ratio(0)
    with pytest.raises(ConfigError, match="gradient must be"):
        Constants(1.0, math.nan, 1.0, 1, 1)
