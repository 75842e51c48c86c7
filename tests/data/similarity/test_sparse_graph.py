"""Do graphs of nearest neighbors and of near pairs join the pairs that they should?"""

import itertools

import numpy as np
import pytest

from unalike.data import Federation, load
from unalike.data.similarity import measure_similarity, similarity_of
from unalike.data.similarity.graph import adjacency, spectrum
from unalike.data.similarity.misalignment import misalignment
from unalike.data.similarity.sparse_graph import components, keep_edges
from unalike.errors import ConfigError

SEEDS = range(5)


def directions(seed, clients=14, features=6):
    drawn = np.random.default_rng(seed).random((clients, features)) - 0.2
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def by_hand(messages, neighbors=None, epsilon=None):
    """The same graphs, pair by pair."""
    count = len(messages)
    mis = np.array([[(1 - a @ b) / 2 for b in messages] for a in messages])
    edges = np.zeros((count, count))
    for i in range(count):
        others = sorted((mis[i, j], j) for j in range(count) if j != i)
        for rank, (value, j) in enumerate(others):
            if (neighbors is not None and rank < neighbors) or (epsilon is not None and value <= epsilon):
                edges[i, j] = edges[j, i] = -np.log(value)
    return edges


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 3, 6])
def test_nearest_neighbors_are_those_of_an_oracle(seed, k):
    found = similarity_of(directions(seed), graph=f"knn:{k}")
    np.testing.assert_allclose(found.edges, by_hand(directions(seed), neighbors=k), rtol=1e-9)
    assert (found.edges == found.edges.T).all()
    degrees = (found.edges > 0).sum(axis=1)
    assert degrees.min() >= k
    assert degrees.sum() <= 2 * k * len(degrees)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("epsilon", [0.05, 0.15, 0.4])
def test_near_pairs_are_those_of_an_oracle(seed, epsilon):
    found = similarity_of(directions(seed), graph=f"epsilon:{epsilon}")
    np.testing.assert_allclose(found.edges, by_hand(directions(seed), epsilon=epsilon), rtol=1e-9)
    assert (found.edges == found.edges.T).all()


@pytest.mark.parametrize("graph", ["knn:13", "knn:99", "epsilon:1"])
def test_with_all_neighbors_it_is_the_full_graph(graph):
    full, found = similarity_of(directions(0)), similarity_of(directions(0), graph=graph)
    assert (found.edges == full.weights).all()
    assert (found.spectrum.values == full.spectrum.values).all()
    assert (found.importance == full.importance).all()


@pytest.mark.parametrize("kind", ["knn:{}", "epsilon:{}"])
def test_more_neighbors_only_add_edges_and_raise_all_eigenvalues(kind):
    weights = adjacency(misalignment(directions(1)))
    knobs = (1, 2, 5, 9) if kind.startswith("knn") else (0.05, 0.1, 0.2, 0.5)
    graphs = [keep_edges(weights, kind.format(knob)) for knob in knobs]
    for fewer, more in itertools.pairwise(graphs):
        assert ((fewer > 0) <= (more > 0)).all()
        assert (spectrum(fewer).values <= spectrum(more).values + 1e-9).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_spectrum_has_a_zero_for_every_component(seed):
    found = similarity_of(directions(seed), graph="epsilon:0.08")
    assert (found.spectrum.values == 0).sum() == found.components > 1
    same = components(found.edges)
    assert not found.edges[same[:, None] != same[None, :]].any()
    assert any(f"{found.components} components" in words for words in found.warnings)


def test_homogeneity_stays_that_of_all_pairs():
    federation = load("digits", partition="imbalance:10,0", clients=12, samples=600, test_fraction=0)
    full, sparse = (measure_similarity(federation, graph=graph) for graph in ("full", "knn:2"))
    assert sparse.homogeneity == full.homogeneity
    assert (sparse.reference, sparse.fit) == (full.reference, full.fit)
    assert sparse.as_dict()["edges"] < full.as_dict()["edges"] == 66
    assert sparse.importance.sum() == pytest.approx(1)
    assert sparse.groups().max() < 6, "hubs are no groups: these have two clients on average"


def test_groups_that_share_nothing_are_the_components():
    x = np.kron(np.eye(3), np.ones((4, 2))) + 0.01 * np.random.default_rng(0).random((12, 6))
    clients = Federation.from_owners(x, np.zeros(12, int), np.arange(12), test_fraction=0)
    found = measure_similarity(clients, repeats=0, graph="knn:2")
    assert found.components == 3
    assert found.groups().tolist() == [0] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize(
    "graph", ["knn:0", "knn:2.5", "knn:many", "epsilon:0", "epsilon:1.5", "epsilon:nan", "x"]
)
def test_impossible_graphs_are_refused(graph):
    with pytest.raises(ConfigError):
        similarity_of(directions(0), graph=graph)


def test_a_graph_with_fewer_edges_needs_all_pairs():
    federation = load("digits", clients=12, samples=300, test_fraction=0)
    with pytest.raises(ConfigError, match="needs all pairs"):
        measure_similarity(federation, most=5, graph="knn:2")
