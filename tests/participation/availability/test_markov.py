"""Simulated chains have the availability, correlation and runs that they promise."""

import numpy as np
import pytest

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.participation.availability import Markov, mean_run, simulate


@pytest.mark.parametrize(
    ("active", "correlation"), [(0.9, 0.0), (0.1, 0.0), (0.1, 0.9), (0.5, 0.5), (0.5, -0.7)]
)
def test_availability_and_autocorrelation_come_out(active, correlation):
    trace = simulate(Markov(active, correlation, clients=3000), 400, seed=2).astype(float)
    error = np.sqrt(active * (1 - active) * (1 + correlation) / (1 - correlation) / trace.size)
    assert abs(trace.mean() - active) < 5 * error
    centered = trace - trace.mean()
    measured = (centered[1:] * centered[:-1]).mean() / centered.var()
    assert measured == pytest.approx(correlation, abs=0.01)


def test_mean_runs_come_out_on_a_long_trace():
    trace = simulate(Markov(0.1, 0.9, clients=20_000), 800, seed=0)
    arrivals, departures = (trace[1:] & ~trace[:-1]).sum(), (~trace[1:] & trace[:-1]).sum()
    there, away = mean_run(0.1, 0.9)
    assert trace.sum() / departures == pytest.approx(there, rel=0.02)
    assert (~trace).sum() / arrivals == pytest.approx(away, rel=0.02)


def test_the_first_round_is_in_the_stationary_law_already():
    first = Markov(0.1, 0.99, clients=100_000).present(0, np.random.default_rng(0))
    assert abs(first.mean() - 0.1) < 5 * 0.3 / np.sqrt(100_000)


def test_a_chain_follows_its_matrix_step_by_step():
    active, correlation = np.array([0.3, 0.6, 0.9]), np.array([0.5, -0.2, 0.0])
    trace = simulate(Markov(active, correlation), 200, seed=9)
    there = None
    for round, row in enumerate(trace):
        uniform = generator(9, "availability", round).random(3)
        for k in range(3):
            chance = active[k]
            if there is not None:
                chance = (1 - correlation[k]) * active[k] + (correlation[k] if there[k] else 0)
            assert row[k] == (uniform[k] < chance)
        there = row


def test_perfect_alternation():
    trace = simulate(Markov(0.5, -1.0, clients=10), 20, seed=0)
    assert (trace[1:] != trace[:-1]).all()


def test_never_and_always_there():
    trace = simulate(Markov([0.0, 1.0], [0.9, -0.9]), 50, seed=0)
    assert not trace[:, 0].any()
    assert trace[:, 1].all()


def test_clients_of_a_group_come_and_go_together_and_groups_are_independent():
    groups = np.array([0, 1, 0, 2, 1])
    trace = simulate(Markov([0.5, 0.2, 0.5, 0.7, 0.2], 0.3, groups), 4000, seed=1).astype(float)
    np.testing.assert_array_equal(trace[:, 0], trace[:, 2])
    np.testing.assert_array_equal(trace[:, 1], trace[:, 4])
    correlations = np.corrcoef(trace[:, [0, 1, 3]].T) - np.eye(3)
    assert np.abs(correlations).max() < 5 * np.sqrt((1 + 0.09) / (1 - 0.09) / 4000)


def test_groups_that_are_only_names_share_nothing():
    alone = simulate(Markov([0.5, 0.2], 0.3), 50, seed=1)
    named = simulate(Markov([0.5, 0.2], 0.3, [0, 0], together=False), 50, seed=1)
    np.testing.assert_array_equal(alone, named)


def test_groups_have_names():
    assert Markov(0.5, 0.0, [0, 2]).group_names == ("group 0", "group 1", "group 2")
    assert Markov(0.5, 0.0, [0, 1], group_names=("here", "there")).group_names == ("here", "there")
    assert Markov(0.5, 0.0, clients=2).groups is None


def test_attributes_say_what_is_simulated_after_clipping():
    with pytest.warns(UserWarning, match="cannot alternate"):
        chain = Markov([0.8, 1.0], [-0.9, 0.5])
    np.testing.assert_allclose(chain.correlation, [-0.25, 0.0])


def test_members_of_a_group_must_agree():
    with pytest.raises(ConfigError, match=r"the same active, but group 1 has 0.5 and, for client 2, 0.4"):
        Markov([0.5, 0.5, 0.4], 0.0, [0, 1, 1])
    with pytest.raises(ConfigError, match="the same correlation"):
        Markov(0.5, [0.1, 0.2], [3, 3])


@pytest.mark.parametrize("groups", [[0.5, 1.0], [[0, 1]], [-1, 0], [], ["a", "b"]])
def test_groups_must_be_whole_numbers(groups):
    with pytest.raises(ConfigError, match="groups must be one whole number from 0 on per client"):
        Markov(0.5, 0.0, groups)


def test_numbers_and_clients_must_fit():
    with pytest.raises(ConfigError, match="say for how many clients"):
        Markov(0.5, 0.0)
    with pytest.raises(ConfigError, match=r"one number per client, but have shape \(2,\) for 3 clients"):
        Markov([0.5, 0.5], 0.0, clients=3)
    with pytest.raises(ConfigError, match="one number per client"):
        Markov([[0.5]], 0.0)
    with pytest.raises(ConfigError, match="one number per client"):
        Markov([], [])


def test_a_state_of_another_population_is_refused():
    chain = Markov(0.5, 0.0, clients=3)
    chain.present(0, np.random.default_rng(0))
    with pytest.raises(ConfigError, match="saved availability has 3 chains, but this one has 4"):
        Markov(0.5, 0.0, clients=4).restore(chain.state())
