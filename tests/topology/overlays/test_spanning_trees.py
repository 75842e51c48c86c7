"""Are trees the lightest, and within their degrees?"""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from unalike.topology.overlays.spanning_trees import cube_path, kruskal, prim


def random_weights(size, seed):
    table = np.random.default_rng(seed).integers(0, 9, (size, size)).astype(float)
    return np.triu(table, 1) + np.triu(table, 1).T


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
