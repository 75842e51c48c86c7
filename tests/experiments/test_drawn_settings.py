"""Does every method get the same chances, from the ranges that it has?"""

import math

import numpy as np
import pytest

from unalike import ConfigError
from unalike.algorithms import algorithm_registry
from unalike.experiments.build import make_algorithm
from unalike.experiments.config import make_experiment
from unalike.experiments.hyperparameter_candidates import SEARCHES, candidates, grid, search_space
from unalike.experiments.tune import apply_settings


def described(algorithm="fedavg", **values):
    return make_experiment({"seed": 3, "algorithm": algorithm, **values})


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("budget", [1, 2, 12])
def test_every_method_gets_the_same_number_of_trials(search, budget):
    counts = {name: len(candidates(described(name), budget, search)) for name in algorithm_registry}
    assert counts == dict.fromkeys(algorithm_registry, budget)


@pytest.mark.parametrize("search", SEARCHES)
def test_the_first_trial_is_the_experiment_as_it_stands(search):
    for name in algorithm_registry:
        first = candidates(described(name, learning_rate=0.07), 3, search)[0]
        assert make_algorithm(apply_settings(described(name, learning_rate=0.07), first)) == make_algorithm(
            described(name, learning_rate=0.07)
        )


@pytest.mark.parametrize("search", SEARCHES)
def test_rates_stay_between_the_ends_and_own_values_are_the_methods(search):
    for name in algorithm_registry:
        own = getattr(algorithm_registry[name], "grid", {})
        for settings in candidates(described(name), 12, search, (0.01, 0.5))[1:]:
            assert 0.01 <= settings["learning_rate"] <= 0.5
            assert set(settings) == {"learning_rate", *own}
            for key, values in own.items():
                assert min(values) * 0.999 <= settings[key] <= max(values) * 1.001


@pytest.mark.parametrize("search", ["quasi-random", "random"])
@pytest.mark.parametrize("name", ["fedprox", "ditto", "knnper", "fedem", "fedadam"])
def test_a_method_with_settings_of_its_own_sees_as_many_learning_rates_as_one_without(name, search):
    rates = {settings["learning_rate"] for settings in candidates(described(name), 12, search)}
    assert len(rates) == 12


@pytest.mark.parametrize("name", ["fedavg", "ditto", "knnper"])
def test_quasi_random_rates_leave_no_large_gap(name):
    """Twelve points, of which none is far from the others on the logarithmic scale: below a quarter."""
    for seed in range(10):
        tried = candidates(described(name, seed=seed), 13, "quasi-random", (0.001, 1.0))[1:]
        places = np.sort(np.log10([settings["learning_rate"] for settings in tried])) / 3 + 1
        assert np.diff([0.0, *places, 1.0]).max() < 0.25


def test_every_choice_of_a_small_set_is_tried():
    found = candidates(described("fedem"), 12)
    assert {settings["components"] for settings in found} == {2, 3, 4}


def test_the_proximal_weight_of_fedprox_is_searched():
    assert set(search_space(described("fedprox"))) == {"learning_rate", "mu"}
    assert set(search_space(described("fedadam", server_learning_rate=0.1))) == {"learning_rate"}


def test_what_the_user_has_set_is_not_searched():
    for search in SEARCHES:
        assert all("lam" not in s for s in candidates(described("ditto", options={"lam": 0.7}), 5, search))


def test_the_seed_decides_what_is_drawn():
    drawn = [candidates(described("ditto", seed=seed), 4, "random") for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("budget", "search", "rates", "words"),
    [
        (0, "random", (0.1, 1.0), "a budget of at least 1"),
        (3, "quasi-random", (1.0, 0.1), "positive learning rates in order"),
        (3, "random", (0.0, 1.0), "positive learning rates in order"),
        (3, "quasi-random", (math.nan, 1.0), "positive learning rates in order"),
        (3, "foo", (0.1, 1.0), "unknown search 'foo'"),
    ],
)
def test_impossible_searches_are_refused(budget, search, rates, words):
    with pytest.raises(ConfigError, match=words):
        candidates(described(), budget, search, rates)


def test_an_infinite_rate_is_refused():
    with pytest.raises(ConfigError, match="positive learning rates"):
        candidates(described(), 3, "random", (1.0, math.inf))


def test_a_grid_reaches_from_end_to_end_and_stays_within_what_is_allowed():
    ranges = {"learning_rate": (0.01, 1.0), "lam": (10.0, 0.1), "k": (1, 2)}
    for most in (1, 7, 12, 30):
        points = grid(ranges, most)
        assert 0 < len(points) <= most
        assert len({tuple(point.values()) for point in points}) == len(points)
    rates = {point["learning_rate"] for point in points}
    assert (min(rates), max(rates)) == (0.01, 1.0)
    assert {point["k"] for point in points} == {1, 2}
    assert [point["learning_rate"] for point in grid({"learning_rate": (0.01, 1.0)}, 3)] == [0.01, 0.1, 1.0]


def test_a_grid_of_nothing_is_empty():
    assert grid({"learning_rate": (0.01, 1.0)}, 0) == []
