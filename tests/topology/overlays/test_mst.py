"""Is the minimum spanning tree the fastest tree where access links are fast?"""

from dataclasses import replace
from itertools import product

import networkx as nx
import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.topology import connect, design
from unalike.topology.overlay import Overlay
from unalike.topology.overlays.spanning_trees import to_undirected

from ..test_delays import uneven


def all_trees(size):
    return [np.array(nx.from_prufer_sequence(code).edges) for code in product(range(size), repeat=size - 2)]


@pytest.mark.parametrize("seed", range(3))
def test_no_tree_is_faster_than_mst_where_access_links_are_fast(seed):
    network = replace(uneven(5, seed), uplink=np.full(5, np.inf), downlink=np.full(5, np.inf))
    mine = design("mst", network).cycle_time(network)
    times = [Overlay(to_undirected(tree, 5)).cycle_time(network) for tree in all_trees(5)]
    assert mine == pytest.approx(min(times), rel=1e-12)


def test_one_way_networks_have_no_tree_and_say_so():
    network = connect("mesh:3")
    latency = np.where(np.roll(np.eye(3), 1, axis=1) + np.eye(3) > 0, network.latency, np.inf)
    one_way = replace(network, latency=latency)
    with pytest.raises(ConfigError, match="one direction only; a directed overlay may exist: try 'search'"):
        design("mst", one_way)
    assert design("search:10", one_way).messages == 3
