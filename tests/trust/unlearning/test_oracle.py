"""Does a request restart where nothing too much of a client is left, and nowhere earlier?"""

import numpy as np
import pytest

from unalike.errors import UnalikeError
from unalike.trust.unlearning.oracle import Node, check_path, extend_path, is_hidden, select_restart

N = np.arange(11)[:, None]
WORKED = {
    "a": {0: 0.2 * N},
    "b": {0: 0.1 * N, 1: 0.125 * N},
    "c": {0: 0.15 * N, 1: 0.25 * N, 2: 0.05 * N},
}
"""A sensitivity per client and branch; the clients are forgotten one after the other."""


def requests(path):
    nodes, ways = (), []
    for tables in WORKED.values():
        known = {s: t for s, t in tables.items() if s == max(tables) or any(s == n.branch for n in nodes)}
        nodes = extend_path(nodes, select_restart(known, nodes, 1.0, path))
        ways.append(list(nodes))
    return ways


def test_the_worked_example_by_the_published_rule():
    assert requests(path=False) == [[(0, 5)], [(0, 5), (1, 8)], [(0, 5), (1, 4)]]


def test_the_worked_example_along_the_path():
    assert requests(path=True) == [[(0, 5)], [(0, 5), (1, 4)], [(0, 5), (1, 1)]]


def test_everything_collapses_to_the_root_where_every_round_is_too_much():
    table = np.concatenate([[[0.0]], np.full((10, 1), 2.0)])
    nodes = [Node(0, 5), Node(1, 3)]
    assert select_restart({0: table, 1: table, 2: table}, nodes, 1.0) == (0, 0)


@pytest.mark.parametrize(
    ("nodes", "restart"), [([(0, 400), (1, 300)], (2, 499)), ([(0, 400), (1, 700)], (1, 499))]
)
def test_a_jump_is_stopped_before_in_the_first_branch_that_passed_it(nodes, restart):
    table = np.where(np.arange(1001) < 500, 0.8, 2.0)[:, None]
    table[0] = 0
    assert select_restart(dict.fromkeys(range(3), table), [Node(*n) for n in nodes], 1.0) == restart


def test_what_fell_again_after_it_was_too_much_is_not_reached():
    table = np.array([0, 0.5, 2.0, 0.3, 0.2])[:, None]
    assert select_restart({0: table}, [], 1.0) == (0, 1)


def test_equality_is_admissible_and_what_is_not_a_number_is_not():
    assert select_restart({0: np.array([[0.0], [1.0], [np.nan]])}, [], 1.0) == (0, 1)


def test_of_several_columns_the_first_to_cross_decides():
    table = np.stack([0.1 * np.arange(11), 0.3 * np.arange(11)], axis=1)
    assert select_restart({0: table}, [], 1.0) == (0, 3)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("path", [False, True])
def test_random_sequences_keep_the_invariants(seed, path):
    """Against a naive second reading: every admissible model is tried in the order of the way."""
    rng = np.random.default_rng(seed)
    clients, limit = 6, 1.0
    tables, nodes, forgotten = {}, (), []
    for request in range(5):
        grown = np.cumsum(rng.random((12, clients)) * rng.choice([0.05, 0.2]), axis=0)
        grown[:, forgotten] = 0
        tables[request] = np.vstack([np.zeros(clients), grown])
        client = rng.choice([c for c in range(clients) if c not in forgotten])
        seen = {s: t[:, [client]] for s, t in tables.items()}
        restart = select_restart(seen, nodes, limit, path)
        assert restart == naive(tables, nodes, client, limit, path)
        nodes = extend_path(nodes, restart)
        forgotten.append(client)
        tables = {s: t for s, t in tables.items() if s <= restart.branch}
        check_path(nodes)
        held = np.array([tables[node.branch][node.round, forgotten] for node in nodes])
        assert all(is_hidden(column, [1.0] * len(nodes), limit) for column in held.T)
        tables = {s: t for s, t in tables.items() if any(node.branch == s for node in nodes)}


def naive(tables, nodes, client, limit, path):
    way, held = [*nodes, Node(max(tables), len(tables[max(tables)]) - 1)], 0.0
    for node in way:
        for n in range(node.round + 1):
            if (held if path else 0) + tables[node.branch][n, client] > limit:
                return Node(node.branch, n - 1)
        held += tables[node.branch][node.round, client]
    return way[-1]


def test_a_way_that_goes_back_is_noticed():
    with pytest.raises(UnalikeError, match="not one"):
        check_path([Node(1, 1), Node(0, 1)])


def test_a_node_counts_with_its_own_noise_only():
    """The node (0, 5) holds 0.5; what was drawn there hides 0.1, however much is drawn now."""
    tables, nodes = {0: 0.1 * N, 1: 0.01 * N}, [Node(0, 5)]
    assert select_restart(tables, nodes, 1.0, limits=[1.0]) == (1, 10)
    assert select_restart(tables, nodes, 1.0, limits=[0.1]) == (0, 5)
    assert select_restart(tables, nodes, 0.31, limits=[0.1]) == (0, 3)
    assert select_restart(tables, nodes, 1.0, path=True, limits=[0.1]) == (1, 10)
