"""Populations of published experiments have the groups, availabilities and correlations they should have."""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation.availability import availability_registry, simulate


def make(spec, clients=100, seed=0):
    return availability_registry.make(spec, clients=clients, seed=seed)


def test_three_groups_of_a_half_and_two_quarters():
    population = make("groups")
    np.testing.assert_array_equal(np.bincount(population.groups), [50, 25, 25])
    assert (np.diff(population.groups) >= 0).all()
    np.testing.assert_allclose(population.active, np.repeat([0.9, 0.1], 50))
    np.testing.assert_array_equal(population.correlation[75:], 0.9)
    assert 0 < np.abs(population.correlation[:75]).max() < 5 * 0.01
    assert len(population.group_names) == 3


def test_four_groups_of_a_quarter():
    population = make("four-groups:0.3,0.8,0.02")
    np.testing.assert_array_equal(np.bincount(population.groups), [25] * 4)
    np.testing.assert_allclose(population.active, np.repeat([0.8, 0.2], 50))
    sticky = np.isin(population.groups, [1, 3])
    np.testing.assert_array_equal(population.correlation[sticky], 0.8)
    assert 0.01 < population.correlation[~sticky].std() < 0.03


def test_clients_of_a_group_come_and_go_on_their_own():
    trace = simulate(make("groups:0.0,0.5"), 40, seed=0)
    assert (trace[:, 75] != trace[:, 76]).any()


def test_weak_correlations_are_the_seed_s():
    one, again, other = (make("groups", seed=seed).correlation for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one[:75] != other[:75]).any()


def test_the_default_population_comes_out_of_a_simulation():
    population = make("groups", clients=1000)
    shares = simulate(population, 400, seed=4).mean(axis=0)
    measured = [shares[population.groups == g].mean() for g in range(3)]
    error = 0.3 / np.sqrt(250 * 400) * np.sqrt(19)  # the third group's rounds are worth a nineteenth
    np.testing.assert_allclose(measured, [0.9, 0.1, 0.1], atol=5 * error)


def test_ten_clusters_of_ten():
    population = make("clusters")
    np.testing.assert_array_equal(population.groups, np.repeat(np.arange(10), 10))
    np.testing.assert_allclose(population.active[::10], [0.9] * 5 + [0.1] * 5)
    np.testing.assert_allclose(population.correlation[::10], [0] * 5 + [0.5, 0.6, 0.7, 0.8, 0.9])
    trace = simulate(population, 100, seed=0).reshape(100, 10, 10)
    assert (trace == trace[:, :, :1]).all()
    assert population.group_names[3] == "cluster 3"


@pytest.mark.parametrize(("clients", "count"), [(7, 3), (10, 10), (1, 1), (23, 5)])
def test_clusters_are_contiguous_and_of_nearly_equal_size(clients, count):
    groups = make(f"clusters:{count}", clients).groups
    sizes = np.bincount(groups, minlength=count)
    assert (np.diff(groups) >= 0).all()
    assert sizes.min() >= 1
    assert np.ptp(sizes) <= 1


@pytest.mark.parametrize("clients", [1, 2, 3, 5])
def test_few_clients_still_make_a_population(clients):
    for spec in ("groups", "four-groups"):
        assert make(spec, clients).active.shape == (clients,)


@pytest.mark.parametrize("count", ["0", "101", "2.5", "nan"])
def test_clusters_need_clients(count):
    with pytest.raises(
        ConfigError, match=r"between 1 and the number of clients \(100\), but is|a whole number belongs"
    ):
        make(f"clusters:{count}")


@pytest.mark.parametrize("spec", ["groups:0.5", "groups:-0.1", "four-groups:nan"])
def test_the_gap_is_below_one_half(spec):
    with pytest.raises(ConfigError, match=r"gap must be at least 0 and below 0.5, but is"):
        make(spec)


def test_noise_and_correlation_must_make_sense():
    with pytest.raises(ConfigError, match="noise must not be negative, but is -1"):
        make("groups:0.4,0.9,-1")
    with pytest.raises(
        ConfigError, match="correlation must be at least -1 and below 1, but is 1 for client 75"
    ):
        make("groups:0.4,1")
