"""Do rows count over a run what the paper derives?"""

import numpy as np
import pytest

from unalike import MemoryStream
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
    np.testing.assert_allclose(found, np.repeat(p / SIZES, SIZES), atol=1e-9)
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


IRREGULAR = [
    ("spread:40,2", "replace"),
    ("poisson:5,2", "replace"),
    ("bursts:50,10,2", "replace"),
    ("constant:5,2", "fifo:20"),
    ("constant:5,2", "window:4"),
    ("poisson:5,2", "fifo:20"),
    ("poisson:5,2", "reservoir:1000"),
    ("intermittent:30,4,2", "fifo"),
]


def counted_by_hand(moving, rounds, rows):
    """sum_t lambda(t, j) of every row, from what each round selects and says that clients weigh."""
    counted = np.zeros(rows)
    for t in range(rounds):
        found, totals = moving.select(t, np.arange(6)), moving.totals(t)
        for client in range(6):
            mine = slice(found.offsets[client], found.offsets[client + 1])
            relative = np.ones(found.rows[mine].size) if found.weights is None else found.weights[mine]
            counted[found.rows[mine]] += totals[client] * relative / max(relative.sum(), 1e-30)
    return counted / counted.sum()


@pytest.mark.parametrize(("arrivals", "memory"), IRREGULAR)
def test_however_irregularly_rows_arrive_all_are_effective(arrivals, memory):
    """Uniform weights: N_eff is the number of rows that arrive in the run."""
    clients = federation([60, 90, 150, 120, 200, 80])
    moving = MemoryStream(arrivals, memory, "uniform")
    moving.begin(clients, 1, 40)
    arrived = int(moving.collected().sum())
    found = counted_by_hand(moving, 40, len(clients.train.y))
    assert effective_samples(found) / arrived == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(found, row_importance(moving, 40, len(clients.train.y)), atol=1e-9)


@pytest.mark.parametrize("words", ["fixed:0.3", "optimal:0.2", "fresh"])
@pytest.mark.parametrize(("arrivals", "memory"), [("bursts:50,10,2", "replace"), ("poisson:5,2", "fifo:20")])
def test_rows_of_a_client_count_alike_and_the_client_what_it_should(arrivals, memory, words):
    clients = federation([60, 90, 150, 120, 200, 80])
    moving = MemoryStream(arrivals, memory, words)
    moving.begin(clients, 1, 40)
    found, owners = counted_by_hand(moving, 40, len(clients.train.y)), clients.train.owners
    wanted = moving.weights.given / moving.weights.given.sum()
    np.testing.assert_allclose(np.bincount(owners, found), wanted, atol=1e-9)
    for client in range(6):
        mine = found[(owners == client) & (found > 0)]
        assert mine.size == 0 or mine.max() / mine.min() == pytest.approx(1.0, abs=1e-5)
