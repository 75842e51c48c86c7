"""Are bounds on circuits below the circuits, and exact where they say so?"""

import networkx as nx
import numpy as np
import pytest

from unalike.topology.critical_circuits import (
    by_sets,
    by_walks,
    lightest_circuits,
    lightest_walks,
    without_turns,
)


def some_weights(size, chance, seed):
    rng = np.random.default_rng(seed)
    weights = np.where(rng.random((size, size)) < chance, rng.normal(size=(size, size)), np.inf)
    np.fill_diagonal(weights, np.inf)
    return weights


def by_enumeration(weights):
    """The lightest of all elementary circuits through each arc."""
    least = np.full(weights.shape, np.inf)
    for circuit in nx.simple_cycles(nx.DiGraph(list(map(tuple, np.argwhere(np.isfinite(weights)).tolist())))):
        arcs = list(zip(circuit, circuit[1:] + circuit[:1], strict=True))
        total = sum(weights[arc] for arc in arcs)
        for arc in arcs:
            least[arc] = min(least[arc], total)
    return least


@pytest.mark.parametrize("chance", [0.3, 0.6, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_each_answer_is_above_the_one_before_and_the_last_is_exact(chance, seed):
    weights = some_weights(6, chance, seed)
    wanted = by_enumeration(weights)
    walks, straight, exact = by_walks(weights), without_turns(weights), by_sets(weights)
    assert np.allclose(exact, wanted)
    assert (straight <= wanted + 1e-9).all()
    assert (walks <= straight + 1e-9).all()


def test_walks_that_turn_are_left_out():
    weights = np.full((4, 4), np.inf)
    weights[0, 1] = weights[1, 2] = weights[2, 3] = weights[3, 0] = 1.0
    weights[1, 0] = weights[2, 1] = -2.0
    assert by_walks(weights)[3, 0] == 4.0  # a detour needs more than four arcs
    assert without_turns(weights)[0, 1] == -1.0
    assert by_walks(weights)[0, 1] == -2.0


@pytest.mark.parametrize("size", [2, 3, 8, 20, 70])
def test_the_answer_is_finite_where_there_is_a_circuit(size):
    found = lightest_circuits(some_weights(size, 1.0, size))
    assert np.isinf(np.diag(found)).all()
    assert np.isfinite(found[~np.eye(size, dtype=bool)]).all()


def test_walks_are_lightest_over_at_most_so_many_arcs():
    weights = np.random.default_rng(3).normal(size=(5, 5))
    power, least = np.where(np.eye(5) > 0, 0, np.inf), np.where(np.eye(5) > 0, 0, np.inf)
    for arcs in range(6):
        assert np.allclose(lightest_walks(weights, arcs), least)
        power = (power[:, :, None] + weights).min(axis=1)
        least = np.minimum(least, power)
