"""Do signals have the values that closed forms give, and tell noise from training?"""

import numpy as np
import pytest
from scipy import stats

from unalike.trust.monitor import signals
from unalike.trust.monitor.measure import find_copies, norm_ratios

RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=20_000)


def test_quantiles_of_a_normal_are_half_a_step_away_from_it():
    n = 999
    quantiles = stats.norm.ppf((np.arange(n) + 0.5) / n)
    assert signals.distance_to_normal(quantiles) == pytest.approx(0.5 / n, rel=0.6)


def test_two_values_are_as_far_from_a_normal_as_they_can_be():
    coins = np.tile([-1.0, 1.0], 500)
    assert signals.distance_to_normal(coins) == pytest.approx(0.5 - stats.norm.cdf(-1), abs=1e-9)
    assert signals.excess_kurtosis(coins) == pytest.approx(-2)
    assert signals.share_beyond(coins) == 0


def test_the_distance_is_that_of_scipy_and_does_not_depend_on_scale():
    values = RNG.laplace(size=3000)
    expected = stats.kstest(values / values.std(), "norm").statistic
    for scale in (1.0, 1e-6, 1e4):
        assert signals.distance_to_normal(scale * values) == pytest.approx(expected, rel=1e-6)


def test_noise_has_no_tails_and_no_structure():
    assert signals.distance_to_normal(NOISE) < 0.02
    assert abs(signals.excess_kurtosis(NOISE)) < 0.2
    assert signals.share_beyond(NOISE) == pytest.approx(0.0027, abs=0.0015)
    assert signals.share_of_zeros(NOISE) == 0
    assert signals.layer_spread(NOISE, np.array([5000, 15_000])) < 0.05


def test_parameters_that_are_never_used_do_not_change_the_tails():
    with_zeros = np.concatenate([NOISE, np.zeros(5000)])
    assert signals.excess_kurtosis(with_zeros) == pytest.approx(signals.excess_kurtosis(NOISE))
    assert signals.share_of_zeros(with_zeros) == 0.2


def test_layers_of_other_scales_spread():
    """Two deviations, e times apart: the logarithms are 0 and 1."""
    update = np.concatenate([np.ones(10), np.e * np.ones(10)])
    assert signals.layer_spread(update, np.array([10, 10])) == pytest.approx(0.5)


@pytest.mark.parametrize("slope", [-0.5, -1.0, -2.0])
def test_noise_that_is_scaled_down_by_a_power_of_time_is_a_line(slope):
    times = np.arange(1.0, 9)
    found = signals.power_law(times, 0.3 * times**slope)
    assert found.slope == pytest.approx(slope)
    assert found.fit == pytest.approx(1)
    noisy = signals.power_law(times, np.array([3.0, 1, 4, 1, 5, 9, 2, 6]))
    assert noisy.fit < 0.6


def test_what_is_not_defined_is_not_a_number():
    nothing = np.zeros(10)
    for value in (
        signals.distance_to_normal(nothing),
        signals.excess_kurtosis(nothing),
        signals.share_beyond(nothing),
        signals.layer_spread(nothing, np.array([10])),
        signals.cosine(nothing, np.ones(10)),
        *signals.power_law(np.ones(2), np.ones(2)),
        *norm_ratios(np.zeros(3)),
    ):
        assert np.isnan(value)


def test_an_update_below_the_rounding_of_the_model_is_none():
    model = np.ones(100)
    assert signals.is_zero(np.zeros(100), model)
    assert signals.is_zero(np.full(100, 1e-9), model)
    assert not signals.is_zero(np.full(100, 1e-5), model)


def test_uploads_are_told_apart_by_single_bits():
    one, other = np.ones(3, np.float32), np.array([1, 1, np.nextafter(np.float32(1), 2)], np.float32)
    digests = [signals.digest(a) for a in (one, other, one.copy())]
    assert find_copies(digests).tolist() == [True, False, True]
