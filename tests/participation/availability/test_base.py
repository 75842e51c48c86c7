"""Every availability can be named, keeps its promises about the long run, and continues where it was."""

import numpy as np
import pytest

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.participation.availability import Always, Markov, availability_registry, simulate, write_trace

NAMED = [
    "always",
    "markov",
    "markov:0.3,-0.2",
    "groups",
    "groups:0.3,0.8,0.02",
    "four-groups",
    "clusters",
    "clusters:4",
    "diurnal",
    "diurnal:6,0.2,0.7,0.5",
]


@pytest.fixture(params=[*NAMED, "trace", "trace json"])
def make(request, tmp_path):
    """A function that makes the same availability of twenty clients anew."""
    spec = request.param
    if spec.startswith("trace"):
        path = tmp_path / ("t.json" if "json" in spec else "t.csv")
        write_trace(path, np.random.default_rng(0).random((7, 20)) < 0.4)
        spec = f"trace:{path},repeat"
    return lambda seed=3, clients=20: availability_registry.make(spec, clients=clients, seed=seed)


def test_everyone_has_a_presence_an_availability_and_a_correlation(make):
    availability = make()
    trace = simulate(availability, 5, seed=1)
    assert trace.shape == (5, 20)
    assert trace.dtype == np.bool_
    assert availability.active.shape == availability.correlation.shape == (20,)
    assert ((availability.active >= 0) & (availability.active <= 1)).all()
    assert (np.abs(availability.correlation) <= 1).all()


def test_the_same_seed_gives_the_same_trace_and_so_does_the_same_object_again(make):
    availability = make()
    first = simulate(availability, 30, seed=5)
    np.testing.assert_array_equal(first, simulate(availability, 30, seed=5))
    np.testing.assert_array_equal(first, simulate(make(), 30, seed=5))


@pytest.mark.parametrize("stop", [0, 1, 4])
def test_a_resumed_run_meets_the_same_clients(make, stop):
    whole = simulate(make(), 12, seed=5)
    interrupted, resumed = make(), make()
    for round in range(stop):
        interrupted.present(round, generator(5, "availability", round))
    resumed.restore(interrupted.state())
    for round in range(stop, 12):
        np.testing.assert_array_equal(
            resumed.present(round, generator(5, "availability", round)), whole[round]
        )


def test_a_saved_state_does_not_change_when_the_run_goes_on():
    chain = Markov(0.5, 0.5, clients=50)
    chain.present(0, generator(0, "availability", 0))
    saved = chain.state()["there"]
    before = saved.copy()
    chain.present(1, generator(0, "availability", 1))
    np.testing.assert_array_equal(saved, before)


def test_what_is_returned_can_be_changed_without_changing_what_follows(make):
    one, two = make(), make()
    for round in range(6):
        there = one.present(round, generator(2, "availability", round))
        np.testing.assert_array_equal(there, two.present(round, generator(2, "availability", round)))
        there[:] = True


def test_another_number_of_clients_is_refused(make):
    make().check(20, rounds=3)
    with pytest.raises(ConfigError, match="speaks of 20 clients, but the federation has 21"):
        make().check(21, rounds=3)


def test_always_means_always():
    always = Always(clients=4)
    assert simulate(always, 10).all()
    np.testing.assert_array_equal(always.active, 1)
    np.testing.assert_array_equal(always.correlation, 0)


@pytest.mark.parametrize("spec", ["always", "markov", "groups", "four-groups", "clusters:3", "diurnal"])
def test_a_hundred_thousand_clients_are_no_trouble(spec):
    availability = availability_registry.make(spec, clients=100_000, seed=0)
    there = simulate(availability, 3, seed=0)
    assert there.shape == (3, 100_000)
    shares = there.mean(axis=1)
    if spec != "clusters:3":  # three coins say little about a mean
        assert np.abs(shares - availability.active.mean()).max() < 5 * 0.5 / np.sqrt(100_000)


def test_unknown_names_and_wrong_arguments_say_what_is_allowed():
    with pytest.raises(ConfigError, match=r"unknown availability 'markof'; did you mean 'markov'\?"):
        availability_registry.make("markof", clients=3, seed=0)
    with pytest.raises(ConfigError, match=r"where a number belongs: markov:active=0.5,correlation=0.9"):
        availability_registry.make("markov:often", clients=3, seed=0)
    with pytest.raises(ConfigError, match="trace:path,after=stop"):
        availability_registry.make("trace", clients=3, seed=0)


def test_every_name_is_explained_in_one_line():
    assert all(20 < len(line) < 120 for line in availability_registry.explain().values())
