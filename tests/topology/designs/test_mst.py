"""Are trees the lightest, within their degrees, and the best of their kind?"""

from dataclasses import replace
from itertools import pairwise, product

import networkx as nx
import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.topology import connect, design
from unalike.topology.designs.mst import to_undirected
from unalike.topology.designs.spanning import cube_path, kruskal, prim
from unalike.topology.overlay import Overlay

from ..test_delays import uneven


def random_weights(size, seed):
    table = np.random.default_rng(seed).integers(0, 9, (size, size)).astype(float)
    return np.triu(table, 1) + np.triu(table, 1).T


def all_trees(size):
    return [np.array(nx.from_prufer_sequence(code).edges) for code in product(range(size), repeat=size - 2)]


@pytest.mark.parametrize("seed", range(5))
def test_both_spanning_trees_are_as_light_as_networkx_says(seed):
    weights = random_weights(20, seed)
    graph = nx.Graph()
    graph.add_weighted_edges_from((i, j, weights[i, j]) for i in range(20) for j in range(i))
    wanted = nx.minimum_spanning_tree(graph).size(weight="weight")
    for tree in (kruskal(weights), prim(weights), prim(weights, root=7)):
        assert len(tree) == 19
        assert nx.is_tree(nx.Graph(tree.tolist()))
        assert weights[tree[:, 0], tree[:, 1]].sum() == wanted


@pytest.mark.parametrize("limit", [2, 3, 4])
def test_limited_trees_grow_by_the_lightest_edge_that_is_free(limit):
    weights = random_weights(12, limit)
    tree = prim(weights, limit)
    assert np.bincount(tree.ravel()).max() <= limit
    inside, degree = [0], np.zeros(12, int)
    for u, v in tree:
        free = [weights[a, b] for a in inside if degree[a] < limit for b in range(12) if b not in inside]
        assert weights[u, v] == min(free)
        assert u in inside
        assert degree[u] < limit
        inside.append(v)
        degree[[u, v]] += 1


def test_trees_that_cannot_be_finished_are_shorter():
    weights = np.full((4, 4), np.inf)
    weights[0, 1:] = weights[1:, 0] = 1
    assert len(prim(weights)) == 3
    assert len(prim(weights, 2)) == 2
    weights[3] = weights[:, 3] = np.inf
    assert len(kruskal(weights)) == 2


@pytest.mark.parametrize("seed", range(20))
def test_paths_through_the_cube_pass_everyone_in_steps_of_three(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 40))
    edges = np.array([(i, int(rng.integers(max(0, i - rng.integers(1, 20)), i))) for i in range(1, size)])
    path = cube_path(edges, size)
    steps = dict(nx.all_pairs_shortest_path_length(nx.Graph(edges.tolist())))
    assert sorted(path) == list(range(size))
    assert max(steps[a][b] for a, b in pairwise(path)) <= 3


def test_long_trees_do_not_exhaust_the_stack():
    assert len(cube_path(np.stack([np.arange(4999), np.arange(1, 5000)], axis=1), 5000)) == 5000


@pytest.mark.parametrize("seed", range(3))
def test_no_tree_is_faster_than_mst_where_access_links_are_fast(seed):
    network = replace(uneven(5, seed), uplink=np.full(5, np.inf), downlink=np.full(5, np.inf))
    mine = design("mst", network).cycle_time(network)
    times = [Overlay(to_undirected(tree, 5)).cycle_time(network) for tree in all_trees(5)]
    assert mine == pytest.approx(min(times), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_limited_trees_are_within_six_times_the_best_and_never_worse_than_their_candidates(seed):
    network = connect("mesh:5,8000", access=1e8, seed=seed)
    mine = design("delta-mbst", network).cycle_time(network)
    best = min(Overlay(to_undirected(tree, 5)).cycle_time(network) for tree in all_trees(5))
    assert best - 1e-9 <= mine <= 6 * best
    assert mine <= design("delta-mbst:prim", network).cycle_time(network) + 1e-9


def test_one_way_networks_have_no_tree_and_say_so():
    network = connect("mesh:3")
    latency = np.where(np.roll(np.eye(3), 1, axis=1) + np.eye(3) > 0, network.latency, np.inf)
    one_way = replace(network, latency=latency)
    with pytest.raises(ConfigError, match="one direction only; a directed overlay may exist: try 'search'"):
        design("mst", one_way)
    assert design("search:10", one_way).messages == 3
    with pytest.raises(ConfigError, match="'all' trees or those of 'prim'"):
        design("delta-mbst:none", network)
