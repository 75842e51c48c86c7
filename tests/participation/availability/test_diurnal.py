"""Day and night: the chance of every round is met, and correlation means what it says."""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation.availability import Diurnal, Markov, availability_registry, simulate


def test_the_chance_swings_between_least_and_most_once_a_day():
    clock = Diurnal(np.arange(24), period=24, least=0.2, most=0.6)
    table = np.stack([clock.chances(round) for round in range(48)])
    assert table.min() == pytest.approx(0.2)
    assert table.max() == pytest.approx(0.6)
    np.testing.assert_allclose(table[:24], table[24:])
    np.testing.assert_allclose(table[:24].mean(axis=0), clock.active)
    np.testing.assert_allclose(table[5], np.roll(table[0], -5))  # five rounds later the sun is five zones on


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_every_round_meets_its_chance_however_correlated(correlation):
    clock = Diurnal(np.zeros(40_000, int), period=8, least=0.1, most=0.9, correlation=correlation)
    trace = simulate(clock, 16, seed=1)
    expected = [clock.chances(round)[0] for round in range(16)]
    assert np.abs(trace.mean(axis=1) - expected).max() < 5 * 0.5 / np.sqrt(40_000)


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_the_attribute_is_the_autocorrelation_that_an_observer_measures(correlation):
    clock = Diurnal(np.arange(2000) % 8, period=8, least=0.1, most=0.9, correlation=correlation)
    centered = simulate(clock, 161, seed=3)[1:].astype(float) - clock.active
    measured = (centered[1:] * centered[:-1]).mean() / 0.25
    assert measured == pytest.approx(clock.correlation[0], abs=0.01)


def test_without_a_swing_it_is_a_two_state_chain():
    clock = Diurnal(np.zeros(1, int), least=0.3, most=0.3, correlation=0.6)
    np.testing.assert_allclose(clock.correlation, Markov(0.3, 0.6, clients=1).correlation)
    many = simulate(Diurnal(np.zeros(20_000, int), least=0.3, most=0.3, correlation=0.6), 3, seed=0)
    stay, arrive = many[2][many[1]].mean(), many[2][~many[1]].mean()
    assert stay == pytest.approx(0.6 + 0.4 * 0.3, abs=0.03)
    assert arrive == pytest.approx(0.4 * 0.3, abs=0.02)


def test_certain_days_need_no_luck():
    trace = simulate(Diurnal([0, 1], period=2, least=0.0, most=1.0), 6)
    np.testing.assert_array_equal(trace, [[True, False], [False, True]] * 3)
    assert Diurnal([0], period=2, least=1.0, most=1.0).correlation == 0


def test_zones_are_spread_evenly_and_shuffled_by_the_seed():
    one, again, other = (availability_registry.make("diurnal:6", clients=60, seed=s).zones for s in (1, 1, 2))
    np.testing.assert_array_equal(np.bincount(one), [10] * 6)
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("diurnal:1", "whole number of at least 2 rounds, but is 1"),
        ("diurnal:2.5", "whole number"),
        ("diurnal:inf", "whole number"),
        ("diurnal:24,0.9,0.1", "least <= most <= 1, but are 0.9 and 0.1"),
        ("diurnal:24,-0.1,0.1", "0 <= least"),
        ("diurnal:24,0.1,nan", "but are 0.1 and nan"),
        ("diurnal:24,0.1,0.9,1", "correlation must be at least 0 and below 1, but is 1"),
        ("diurnal:24,0.1,0.9,-0.1", "correlation must be at least 0"),
    ],
)
def test_days_must_make_sense(spec, message):
    with pytest.raises(ConfigError, match=message):
        availability_registry.make(spec, clients=4, seed=0)


@pytest.mark.parametrize("zones", [[0.5], [], [[1]], 3])
def test_zones_are_whole_numbers(zones):
    with pytest.raises(ConfigError, match="zones must be one whole number of rounds per client"):
        Diurnal(zones)


def test_a_state_of_another_population_is_refused():
    clock = Diurnal([0, 1])
    clock.present(0, np.random.default_rng(0))
    with pytest.raises(ConfigError, match="saved availability has 2 clients, but this one has 3"):
        Diurnal([0, 1, 2]).restore(clock.state())
