"""Are clients never heard of one leaf of the tree, without a table of everyone?"""

import tracemalloc

import numpy as np
import pytest
import scipy

from unalike.errors import ConfigError
from unalike.participation import ClusteredBySimilarity, Cohort, RoundContext
from unalike.participation.samplers import clustered_similarity as module
from unalike.participation.samplers.similarity import METHODS, row_squares, split_into, tree_of_places

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("copies", [1, 2, 12])
def test_a_leaf_of_several_is_several_leaves_at_the_same_place(copies, method):
    points = RNG.normal(size=(30, 4))
    everyone = np.concatenate([np.repeat(points[:1], copies, axis=0), points[1:]])
    expected = scipy.cluster.hierarchy.linkage(everyone, method)[copies - 1 :]
    squares = scipy.spatial.distance.cdist(points, points, "sqeuclidean")
    tree = tree_of_places(squares, np.array([copies, *[1] * 29]), method)
    np.testing.assert_allclose(tree[:, 2], expected[:, 2], rtol=1e-10)
    assert [int(count) for count in tree[:, 3]] == [_leaves(tree, k) for k in range(29)]


def _leaves(tree, k):
    """How many leaves are under a merge, counted from the tree's first two columns."""
    n = len(tree) + 1
    return sum(1 if child < n else _leaves(tree, int(child) - n) for child in tree[k, :2])


def test_rows_of_a_table_with_repeated_columns_are_those_of_the_whole_table():
    table = RNG.random((5, 5))
    whole = np.repeat(table, [3, 1, 1, 1, 1], axis=1)
    expected = scipy.spatial.distance.cdist(whole, whole, "sqeuclidean")
    np.testing.assert_allclose(row_squares(table, np.array([3, 1, 1, 1, 1])), expected, atol=1e-12)


def told(clients, heard, **options):
    sampler = ClusteredBySimilarity(per_round=20, **options)
    who = np.sort(RNG.choice(clients, heard, replace=False))
    cohort = Cohort(who, np.full(heard, 1 / heard))
    sampler.observe(0, cohort, {"update": RNG.normal(size=(heard, 8))})
    return sampler


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("linkage", ["rows", "condensed"])
def test_clients_that_were_heard_are_grouped_as_in_the_whole_tree(monkeypatch, linkage, method):
    # Angles to clients never heard of are all the same, and such ties have no right order in other trees.
    measure = "arccos" if method == "ward" else "L1"
    sampler = told(400, 90, measure=measure, linkage=linkage, method=method)
    equal = np.full(400, 1 / 400)

    def heard_groups():
        known = set(sampler.memory.row)
        return sorted(tuple(g) for g in sampler.groups(equal) if known & set(g.tolist()))

    dense = heard_groups()
    monkeypatch.setattr(module, "FEW", 0)
    assert heard_groups() == dense


@pytest.mark.parametrize("heard", [0, 50])
def test_many_clients_are_drawn_without_bias_and_in_little_memory(heard):
    clients = 20_000
    sampler = told(clients, heard) if heard else ClusteredBySimilarity(per_round=20)
    importance = RNG.dirichlet(np.ones(clients))
    tracemalloc.start()
    cohort = sampler.cohort(RoundContext(0, importance))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert cohort.weights.sum() == pytest.approx(1)
    assert peak < 200e6  # a table of all pairs would be 3.2 gigabytes
    mass = np.zeros(clients)
    line = sampler.line(importance)
    np.add.at(mass, line.clients, line.amounts)
    np.testing.assert_allclose(mass / mass.sum(), importance, atol=1e-6)


def test_pieces_of_a_list_are_as_long_as_they_may_be():
    groups = split_into(np.arange(6), np.array([1, 2, 3, 3, 1, 1]), limit=3)
    assert [group.tolist() for group in groups] == [[0, 1], [2], [3], [4, 5]]


def test_more_clients_than_can_be_compared_are_refused_beforehand():
    sampler = ClusteredBySimilarity(per_round=100)
    sampler.check(100_000, 80)
    with pytest.raises(ConfigError, match="at most 8000, but 81 rounds of 100 may be 8100"):
        sampler.check(100_000, 81)
    sampler.check(8000, 10_000)
