"""Are the conditions of FEM-OMD what the theory says, and does the bound on its gradient hold?"""

import math

import numpy as np
import pytest
from scipy.stats import norm

from unalike import ConfigError
from unalike.theory.mixtures.em_conditions import (
    gradient_error_bound,
    needed_rows,
    needed_separation,
    smallest_distances,
    start_radius,
    weights_start_holds,
)
from unalike.theory.mixtures.regret import regret_curve, regret_slope


def test_separation_by_hand():
    assert needed_separation(4, 0.25) == pytest.approx(128 * math.sqrt(math.log(16)))
    assert needed_separation(4, 0.1, constant=1) == pytest.approx(math.sqrt(math.log(40)))


@pytest.mark.parametrize("least", [0.0, 0.3, -1.0])
def test_a_weight_below_all_weights_is_possible(least):
    with pytest.raises(ConfigError, match="at most"):
        needed_separation(4, least)


def test_distances_to_the_nearest_mean_by_brute_force():
    points = np.random.default_rng(0).normal(size=(6, 3))
    wanted = [
        min(np.linalg.norm(a - b) for j, b in enumerate(points) if j != i) for i, a in enumerate(points)
    ]
    np.testing.assert_allclose(smallest_distances(points), wanted)
    np.testing.assert_allclose(start_radius(points), np.array(wanted) / 16)


def test_equal_weights_are_near_enough_for_weights_between_two_thirds_and_twice_of_them():
    for share, holds in ((0.4, True), (1 / 3 + 1e-9, True), (0.3, False)):
        assert weights_start_holds([0.5, 0.5], [share, 1 - share]) is holds


def test_rows_grow_with_accuracy_and_dimension():
    base = needed_rows(2, 3, 0.1, 0.1)
    assert needed_rows(4, 3, 0.1, 0.1) == pytest.approx(2 * base)
    assert needed_rows(2, 3, 0.1, 0.05) == pytest.approx(4 * base)
    assert base == pytest.approx(2 / (0.1 * 0.01) * math.log(9 / 0.05) ** 2)


@pytest.mark.parametrize("seed", range(8))
def test_the_gradients_error_stays_below_its_bound(seed):
    rng = np.random.default_rng(seed)
    truth = 2 * rng.normal(size=3)
    means = truth + 0.2 * rng.normal(size=3)
    weights, estimate, played = rng.dirichlet(np.ones(3), 3)
    z = np.linspace(-20, 20, 20_001)

    def gradient(at, of):
        densities = norm.pdf(z[:, None], at)
        return -(densities @ of * (z[1] - z[0])) @ (densities / (densities @ played)[:, None])

    error = played * np.abs(gradient(truth, weights) - gradient(means, estimate))
    assert error.max() <= gradient_error_bound(means[:, None], truth[:, None], estimate, weights)


@pytest.mark.parametrize("power", [0.5, 0.8, 1.0])
def test_the_slope_is_the_power_of_time(power):
    assert regret_slope(3 * np.arange(1, 401) ** power) == pytest.approx(power)


def test_a_regret_that_is_not_positive_has_no_slope():
    assert math.isnan(regret_slope(np.array([-1.0, 2.0, 3.0, 4.0])))
    np.testing.assert_array_equal(regret_curve([2.0, 1.0, 0.0], [1.0, 1.0, 1.0]), [1, 1, 0])
