"""Do rows count over a run what the paper derives?"""

import numpy as np
import pytest

from unalike.data.streams import effective_samples, row_importance

from .test_memory import federation
from .test_weights import begun

SIZES = [30, 10, 40, 20]
T = 10


def stream(arrivals, memory, weights):
    clients = federation(SIZES)
    return begun(arrivals, memory, weights, T, clients), len(clients.train.y)


@pytest.mark.parametrize("words", ["uniform", "fixed:0.3", "fresh", "historical"])
def test_with_memories_of_one_batch_every_row_of_a_client_counts_the_same(words):
    """Section 5: p_{m,i} = p_m / N_m and N_eff = N / sum_m p_m^2 / n_m."""
    moving, rows = stream("spread:10,2", "replace", words)
    found, p = row_importance(moving, T, rows), moving.importance(0)
    np.testing.assert_allclose(found, np.repeat(p / SIZES, SIZES))
    n = np.array(SIZES) / rows
    assert effective_samples(found) == pytest.approx(rows / (p**2 / n).sum())


def test_all_rows_are_effective_if_and_only_if_all_count_the_same():
    moving, rows = stream("spread:10,2", "replace", "uniform")
    assert effective_samples(row_importance(moving, T, rows)) == pytest.approx(rows)
    longer, _ = stream("spread:10,2", "fifo:6", "memory-size")
    assert effective_samples(row_importance(longer, T, rows)) < rows


def test_clients_count_the_mean_of_their_rounds():
    """p_m = sum_t q(t) p_m(t), with q(t) the weight of a round among all."""
    moving, rows = stream("poisson:1,1", "window:3", "memory-size")
    q = np.array([moving.totals(t).sum() for t in range(T)])
    rounds = np.array([moving.importance(t) for t in range(T)])
    owners = np.repeat(np.arange(4), SIZES)
    found = np.bincount(owners, row_importance(moving, T, rows))
    np.testing.assert_allclose(found, q / q.sum() @ rounds)


def test_nothing_counts_where_nothing_arrives():
    moving, rows = stream("constant:0.05", "fifo", "memory-size")
    assert effective_samples(row_importance(moving, T, rows)) == 0
