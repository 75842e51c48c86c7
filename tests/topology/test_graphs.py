"""Are graphs of clients what their names say, and are useless ones refused?"""

import numpy as np
import pytest

from unalike import ConfigError
from unalike.topology import check_graph, degrees, graph_of, graph_registry, unreachable

NAMES = ("ring", "path", "complete", "star", "grid", "erdos-renyi:0.5")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("clients", [2, 3, 7, 12])
def test_every_graph_is_symmetric_connected_and_without_loops(name, clients):
    graph = graph_of(name, clients, seed=3)
    assert graph.dtype == bool
    assert graph.shape == (clients, clients)
    assert (graph == graph.T).all()
    assert not np.diag(graph).any()
    assert unreachable(graph) is None


def test_degrees_are_those_known_by_heart():
    assert (degrees(graph_of("ring", 5)) == 2).all()
    assert (degrees(graph_of("complete", 5)) == 4).all()
    assert degrees(graph_of("star", 5)).tolist() == [4, 1, 1, 1, 1]
    assert degrees(graph_of("path", 4)).tolist() == [1, 2, 2, 1]
    assert sorted(degrees(graph_of("grid", 9)).tolist()) == [2] * 4 + [3] * 4 + [4]


def test_a_grid_of_a_prime_number_is_a_path():
    assert (graph_of("grid", 7) == graph_of("path", 7)).all()


def test_random_graphs_follow_their_seed_and_chance():
    one, again, other = (graph_of("erdos-renyi:0.3", 60, seed) for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()
    assert abs(one.sum() / (60 * 59) - 0.3) < 0.05


def test_a_chance_that_never_connects_is_refused():
    with pytest.raises(ConfigError, match="no connected graph of 50 clients"):
        graph_of("erdos-renyi:0.001", 50)
    with pytest.raises(ConfigError, match="above 0 and at most 1"):
        graph_of("erdos-renyi:1.5", 5)


def test_a_table_becomes_a_graph_and_wrong_ones_are_refused():
    assert (graph_of([[0, 2], [1, 0]], 2) == graph_of("path", 2)).all()
    with pytest.raises(ConfigError, match="table of that size"):
        graph_of(np.ones((3, 3)), 4)
    with pytest.raises(ConfigError, match="client 0 hears client 1 but not the other way"):
        graph_of([[0, 1], [0, 0]], 2)


def test_an_unreachable_client_is_named():
    pairs = np.kron(np.eye(2, dtype=bool), np.ones((2, 2), bool))
    with pytest.raises(ConfigError, match="client 2 cannot be reached from client 0"):
        check_graph(pairs)


@pytest.mark.parametrize("name", NAMES)
def test_one_client_is_no_graph(name):
    with pytest.raises(ConfigError, match="at least 2 clients"):
        graph_registry.make(name, clients=1)
