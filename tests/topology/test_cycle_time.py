"""Is the cycle time the largest mean of a circuit, however it is computed?"""

import networkx as nx
import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.topology.cycle_time import critical_circuit, howard, karp, start_times
from unalike.topology.strong_connectivity import is_strong, reachable_silos


def digraph(size, chance, rng):
    """Random delays on a random strongly connected digraph, some loops longer than others."""
    order = rng.permutation(size)
    arcs = rng.random((size, size)) < chance
    arcs[order, np.roll(order, -1)] = True
    np.fill_diagonal(arcs, True)
    return np.where(arcs, rng.random((size, size)) * rng.choice([1, 10], (size, size)), -np.inf)


def by_brute_force(delays):
    """The mean of every elementary circuit."""
    graph = nx.DiGraph((i, j) for i, j in np.argwhere(np.isfinite(delays)).tolist())
    cycles = nx.simple_cycles(graph)
    return max(np.mean([delays[a, b] for a, b in zip(c, c[1:] + c[:1], strict=True)]) for c in cycles)


@pytest.mark.parametrize("seed", range(30))
def test_it_is_the_largest_mean_over_all_circuits(seed):
    rng = np.random.default_rng(seed)
    delays = digraph(int(rng.integers(1, 7)), rng.random(), rng)
    wanted = by_brute_force(delays)
    found = critical_circuit(delays)
    assert found.mean == pytest.approx(wanted, rel=1e-12)
    assert howard(delays).mean == pytest.approx(wanted, rel=1e-12)
    assert karp(delays) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("size", [2, 9, 60, 200])
def test_the_critical_circuit_has_the_mean_it_claims(size):
    rng = np.random.default_rng(size)
    delays = digraph(size, 3 / size, rng)
    found = critical_circuit(delays)
    silos = np.array(found.silos)
    assert len(set(found.silos)) == len(found.silos)
    assert delays[silos, np.roll(silos, -1)].mean() == pytest.approx(found.mean, rel=1e-12)
    assert karp(delays) == pytest.approx(found.mean, rel=1e-9)


def test_ties_and_zero_delays_end():
    delays = np.zeros((40, 40))
    assert howard(delays).mean == 0
    delays = np.random.default_rng(0).integers(0, 2, (40, 40)).astype(float)
    assert howard(delays).mean == 1


def test_rings_take_the_mean_and_trees_their_slowest_edge():
    rng = np.random.default_rng(1)
    order = rng.permutation(30)
    ring = np.full((30, 30), -np.inf)
    ring[order, np.roll(order, -1)] = steps = rng.random(30)
    np.fill_diagonal(ring, 0)
    assert critical_circuit(ring).mean == pytest.approx(steps.mean(), rel=1e-12)
    assert howard(ring).mean == pytest.approx(steps.mean(), rel=1e-12)
    tree = np.full((30, 30), -np.inf)
    np.fill_diagonal(tree, 0)
    pairs = [(i, int(rng.integers(i))) for i in range(1, 30)]
    for i, j in pairs:
        tree[i, j], tree[j, i] = rng.random(2)
    wanted = max((tree[i, j] + tree[j, i]) / 2 for i, j in pairs)
    assert critical_circuit(tree).mean == pytest.approx(wanted, rel=1e-12)
    assert howard(tree).mean == pytest.approx(wanted, rel=1e-12)


def test_a_slow_silo_is_critical_by_itself():
    delays = np.array([[5.0, 1, -np.inf], [-np.inf, 0, 1], [1, -np.inf, 0]])
    found = critical_circuit(delays)
    assert (found.mean, found.silos) == (5.0, (0,))
    assert found.words("abc") == "a → a"


def test_simulated_rounds_have_that_slope():
    rng = np.random.default_rng(5)
    for _ in range(5):
        delays = digraph(12, 0.2, rng)
        times = start_times(delays, 2000)
        slope = (times[-1] - times[1000]) / 1000
        assert np.allclose(slope, critical_circuit(delays).mean, rtol=1e-3)
        assert np.allclose(times[1], delays.max(axis=0))


def test_simulated_rounds_take_delays_in_turns():
    one, two = np.array([[1.0, 2], [3, 1]]), np.array([[4.0, 1], [1, 4]])
    times = start_times([one, two], 3)
    assert times.tolist() == [[0, 0], [3, 2], [7, 6], [9, 9]]


def test_overlays_that_do_not_reach_everyone_name_a_silo():
    delays = np.array([[0, 1.0, 1], [1, 0, -np.inf], [-np.inf, -np.inf, 0]])
    with pytest.raises(
        ConfigError, match="not strongly connected, it has 2 parts: silo 'c' cannot reach 'a'"
    ):
        critical_circuit(delays, "abc")
    with pytest.raises(ConfigError, match="silo 'c' cannot be reached from 'a'"):
        critical_circuit(delays.T, "abc")


def test_strong_connectivity_agrees_with_networkx():
    rng = np.random.default_rng(6)
    for _ in range(50):
        arcs = rng.random((6, 6)) < 0.3
        graph = nx.DiGraph(list(map(tuple, np.argwhere(arcs).tolist())))
        graph.add_nodes_from(range(6))
        assert is_strong(arcs) == nx.is_strongly_connected(graph)
        assert set(np.flatnonzero(reachable_silos(arcs, 2))) == nx.descendants(graph, 2) | {2}
