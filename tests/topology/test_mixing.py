"""Do mixing weights keep the mean, and do the fastest ones reach the optima that are known?"""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from unalike import ConfigError
from unalike.topology import (
    check_mixing,
    consensus_distance,
    contraction,
    disagreement,
    expected_contraction,
    graph_of,
    mixing_of,
    mixing_registry,
    reaches_everyone,
)


def slowest(matrix):
    return np.sqrt(1 - contraction(matrix))


@pytest.mark.parametrize("name", ["ring", "path", "star", "grid", "complete", "erdos-renyi:0.4"])
@pytest.mark.parametrize("mixing", ["metropolis", "fastest", "fastest:0.2"])
def test_weights_are_doubly_stochastic_on_the_graph_with_loops(name, mixing):
    graph = graph_of(name, 9, seed=2)
    matrix = mixing_of(mixing, graph)
    check_mixing(matrix, graph)
    assert contraction(matrix) > 0


def test_metropolis_is_its_formula():
    graph = graph_of("erdos-renyi:0.5", 8, seed=1)
    matrix, degree = mixing_of("metropolis", graph), graph.sum(1)
    for s, t in np.argwhere(graph):
        assert matrix[s, t] == pytest.approx(1 / (1 + max(degree[s], degree[t])))


@pytest.mark.parametrize("clients", [4, 7, 10])
def test_the_fastest_path_is_the_symmetric_walk(clients):
    """Half on every edge: the second eigenvalue is cos(pi / n) (Boyd, Diaconis, Sun, Xiao, 2006)."""
    found = mixing_of("fastest:0", graph_of("path", clients))
    assert slowest(found) == pytest.approx(np.cos(np.pi / clients), abs=1e-4)


@pytest.mark.parametrize(("name", "clients"), [("ring", 6), ("ring", 9), ("complete", 5), ("star", 7)])
def test_graphs_whose_edges_are_all_alike_have_one_best_weight(name, clients):
    """On an edge-transitive graph some optimum has equal weights, which one number decides."""
    graph = graph_of(name, clients)
    laplacian = np.linalg.eigvalsh(np.diag(graph.sum(1)) - graph.astype(float))[1:]
    most = 1 / graph.sum(1).max()
    best = minimize_scalar(
        lambda w: np.abs(1 - w * laplacian).max(), bounds=(0, most), method="bounded", options={"xatol": 1e-9}
    )
    assert slowest(mixing_of("fastest:0", graph)) == pytest.approx(best.fun, abs=1e-4)


def test_a_small_graph_agrees_with_a_search_over_a_fine_grid():
    """A triangle with a tail: by symmetry three weights, searched by brute force."""
    graph = graph_of([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]], 4)
    steps = np.linspace(0, 1, 41)
    best = 1.0
    for a in steps:
        for b in steps[steps <= 1 - a]:
            for c in steps[steps <= 1 - 2 * b + 1e-12]:
                w = np.array([[0, a, b, 0], [a, 0, b, 0], [b, b, 0, c], [0, 0, c, 0]])
                best = min(best, slowest(w + np.diag(1 - w.sum(1))))
    found = slowest(mixing_of("fastest:0", graph))
    assert best - 0.03 < found <= best + 1e-6


@pytest.mark.parametrize("clients", [8, 40])
def test_the_fastest_is_never_slower_than_metropolis(clients):
    graph = graph_of("erdos-renyi:0.3", clients, seed=5)
    assert contraction(mixing_of("fastest", graph)) > contraction(mixing_of("metropolis", graph))


def test_contraction_is_the_worst_case_of_one_mixing():
    matrix = mixing_of("metropolis", graph_of("path", 6))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 6))
    gap = ((x - x.mean(1, keepdims=True)) ** 2).sum(1)
    after = x @ matrix
    ratio = ((after - after.mean(1, keepdims=True)) ** 2).sum(1) / gap
    assert ratio.max() <= 1 - contraction(matrix) + 1e-12
    _values, vectors = np.linalg.eigh(matrix)
    worst = vectors[:, -2]
    assert ((worst @ matrix) ** 2).sum() == pytest.approx(1 - contraction(matrix))


def test_a_negative_eigenvalue_slows_mixing_as_much_as_a_positive_one():
    """Two clients that swap models never agree, although the second eigenvalue is below one."""
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert contraction(swap) == pytest.approx(0)


def test_matrices_that_connect_only_together_contract_together():
    one, other = np.eye(3), np.eye(3)
    one[:2, :2] = other[1:, 1:] = 0.5
    assert contraction(one) == pytest.approx(0)
    assert contraction(other) == pytest.approx(0)
    assert contraction([one, other]) > 0.5
    assert reaches_everyone([one, other])
    assert not reaches_everyone(one)
    mean_square = 0.5 * (one.T @ one + other.T @ other) - 1 / 3
    assert expected_contraction([one, other]) == pytest.approx(1 - np.linalg.eigvalsh(mean_square).max())


def test_the_distance_to_consensus_is_a_variance():
    models = {"w": np.array([[0.0], [2.0]]), "b": np.array([[1.0], [1.0]])}
    assert consensus_distance(models) == pytest.approx(1.0)
    assert disagreement(models) == pytest.approx(1 / np.sqrt(2))


def refused(matrix, match, **options):
    with pytest.raises(ConfigError, match=match):
        check_mixing(matrix, **options)


def test_wrong_matrices_are_refused_with_the_client_named():
    refused(np.ones((2, 3)), "square")
    refused([[1.5, -0.5], [-0.5, 1.5]], "not negative, which fails between clients 0 and 1")
    refused([[0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.4, 0.6]], "symmetric, which fails between clients 1 and 2")
    refused([[0.5, 0.4], [0.4, 0.5]], "sum to one, which fails at client 0")
    refused([[0, 1], [1, 0]], "keep a part of its own model, which fails at client 0")
    everyone = np.full((3, 3), 1 / 3)
    refused(everyone, "only neighbors may be mixed, .* clients 0 and 2", graph=graph_of("path", 3))
    assert (check_mixing([[0, 1], [1, 0]], loops=False) == [[0, 1], [1, 0]]).all()
    with pytest.raises(ConfigError, match="needs a share"):
        mixing_registry.make("fastest:1", graph=graph_of("path", 3))
