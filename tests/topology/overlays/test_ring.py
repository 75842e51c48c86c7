"""Are rings closed tours that are short, in the better direction?"""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.topology import connect, design
from unalike.topology.delays import both_ways, single_delays
from unalike.topology.overlays.ring import ring_of
from unalike.topology.overlays.tsp import christofides, shorten, tour_length

from ..test_delays import uneven


def distances(size, seed):
    place = np.random.default_rng(seed).random((size, 2))
    return np.linalg.norm(place[:, None] - place, axis=2)


def shortest(weights):
    tours = (np.array((0, *rest)) for rest in permutations(range(1, len(weights))))
    return min(tour_length(tour, weights) for tour in tours)


@pytest.mark.parametrize("seed", range(8))
def test_tours_are_within_three_halves_of_the_shortest_and_improve(seed):
    weights = distances(8, seed)
    tour = christofides(weights)
    better = shorten(tour, weights)
    least = shortest(weights)
    assert sorted(tour) == sorted(better) == list(range(8))
    assert least - 1e-9 <= tour_length(better, weights) <= tour_length(tour, weights) + 1e-9
    assert tour_length(tour, weights) <= 1.5 * least + 1e-9


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_few_silos_have_tours(size):
    weights = distances(size, 0)
    assert sorted(shorten(christofides(weights), weights)) == list(range(size))


def test_large_tours_keep_close_to_what_random_points_allow():
    weights = distances(500, 1)
    tour = shorten(christofides(weights), weights)
    assert sorted(tour) == list(range(500))
    # The shortest tour through n random points of a unit square is about 0.7124 sqrt(n) (1 + 0.33 / n).
    assert tour_length(tour, weights) < 1.12 * (0.7124 * np.sqrt(500) + 0.55)


def test_moves_stop_where_none_helps():
    weights = distances(60, 2)
    tour = shorten(np.random.default_rng(0).permutation(60), weights, nearest=59)
    for i in range(60):
        for j in range(i + 2, 60):
            other = np.concatenate([tour[: i + 1], tour[i + 1 : j + 1][::-1], tour[j + 1 :]])
            assert tour_length(other, weights) >= tour_length(tour, weights) - 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_a_ring_takes_the_mean_delay_in_its_better_direction(seed):
    network = uneven(7, seed)
    ring = design("ring", network)
    weights = single_delays(network)
    backwards = ring_of(np.array(ring.critical(network).silos)[::-1])
    slow = 3 * network.compute.max()
    assert ring.cycle_time(network) == pytest.approx(max(weights[ring.arcs].mean(), slow))
    assert ring.cycle_time(network) <= backwards.cycle_time(network) + 1e-9
    assert ring.messages == 7


def test_the_ring_is_not_longer_than_christofides_on_symmetric_delays():
    network = connect("gaia")
    weights = both_ways(single_delays(network))
    wanted = tour_length(christofides(weights), weights) / 11
    assert design("ring", network).cycle_time(network) == pytest.approx(wanted)
    assert design("ring:improved", network).cycle_time(network) <= wanted + 1e-9


def test_rings_go_round_missing_arcs_or_say_that_they_cannot():
    network = connect("mesh:5", seed=3)
    latency = network.latency.copy()
    usual = design("ring", network).arcs
    i, j = np.argwhere(usual)[0]
    latency[i, j] = latency[j, i] = np.inf
    other = design("ring", replace(network, latency=latency))
    assert not other.arcs[i, j]
    assert not other.arcs[j, i]
    star = np.where(np.arange(5) * np.arange(5)[:, None] == 0, network.latency, np.inf)
    np.fill_diagonal(star, 0)
    with pytest.raises(ConfigError, match="no ring was found, because 'silo-"):
        design("ring", replace(network, latency=star))
    with pytest.raises(ConfigError, match="'plain', 'improved' or 'auto'"):
        design("ring:better", network)


def test_random_rings_follow_their_seed():
    network = connect("gaia")
    one, again, other = (design("random-ring", network, seed).arcs for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()
