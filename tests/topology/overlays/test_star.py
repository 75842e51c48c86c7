"""Is a star timed as two transfers and one computation, and is its hub well chosen?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.topology import connect, design
from unalike.topology.underlays.base import Underlay

from ..test_delays import uneven


def naive_round(network, hub):
    """From sending the average to having all models, silo by silo."""
    peers, waits = len(network) - 1, [network.local_steps * network.compute[hub]]
    for i in range(len(network)):
        if i != hub:
            up = min(network.uplink[i], network.downlink[hub] / peers, network.bandwidth[i, hub])
            down = min(network.uplink[hub] / peers, network.downlink[i], network.bandwidth[hub, i])
            moving = network.latency[i, hub] + network.latency[hub, i]
            moving += 1000 * network.bits * (1 / up + 1 / down)
            waits.append(moving + network.local_steps * network.compute[i])
    return max(waits)


@pytest.mark.parametrize("seed", range(3))
def test_rounds_are_those_of_the_formula_and_the_best_hub_is_best(seed):
    network = uneven(6, seed)
    times = [naive_round(network, hub) for hub in range(6)]
    for hub, name in enumerate(network.names):
        assert design(f"star:{name}", network).cycle_time(network) == pytest.approx(times[hub], rel=1e-12)
    best = design("star", network)
    assert best.hub == int(np.argmin(times))
    assert best.notes == f"hub: {network.names[best.hub]}"
    assert best.critical(network).silos[0] == best.hub


def test_load_centrality_finds_the_middle_of_a_map_and_says_when_there_is_none():
    line = Underlay(tuple("abcde"), np.array([[3, 1], [1, 4], [4, 0], [0, 2]]), np.ones(4))
    assert design("star:load-centrality", connect(line)).notes == "hub: e"
    assert "no path passes" in design("star:load-centrality", connect("gaia")).notes


def test_a_hub_that_cannot_talk_to_all_is_refused():
    network = connect("mesh:4")
    latency = network.latency.copy()
    latency[0, 2] = np.inf
    network = replace(network, latency=latency)
    assert design("star:silo-1", network).hub == 1
    with pytest.raises(ConfigError, match="'silo-0' and 'silo-2' cannot talk both ways"):
        design("star:first", network)
    with pytest.raises(ConfigError, match="hub is 'best', 'first', 'load-centrality' or the name"):
        design("star:nobody", network)


def test_a_star_with_slow_links_is_up_to_twice_n_minus_one_times_slower_than_a_ring():
    network = replace(connect("mesh:12,0.001", "custom:1e9,0", access=1e6), latency=np.zeros((12, 12)))
    ratio = design("star", network).cycle_time(network) / design("ring", network).cycle_time(network)
    assert ratio == pytest.approx(2 * 11)
