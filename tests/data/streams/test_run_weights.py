"""What rounds, clients and rows of a run count: as found by asking every round for its rows."""

import numpy as np
import pytest

from unalike import MemoryStream
from unalike.data.streams import ClockedStream, HeldSteps, Stream, StreamWeights, effective_samples
from unalike.data.streams import row_importance as by_asking

from .test_memory import federation

SIZES, T = [30, 10, 40, 20], 12
CASES = [
    (arrivals, memory, weights)
    for arrivals, memory in [
        ("spread:10,2", "replace"),
        ("poisson:2,1", "fifo:6"),
        ("constant:3", "window:3"),
        ("poisson:2,1", "reservoir:6"),
        ("intermittent:10,3,1", "fifo"),
        ("historical", "fifo:9"),
    ]
    for weights in ("memory-size", "uniform", "importance", "optimal:0.4,equal")
]


def begun(arrivals, memory, weights, rounds=T):
    stream = MemoryStream(arrivals, memory, weights)
    stream.begin(federation(SIZES), 1, rounds)
    return stream


@pytest.mark.parametrize(("arrivals", "memory", "weights"), CASES)
def test_as_found_by_asking_every_round(arrivals, memory, weights):
    stream = begun(arrivals, memory, weights)
    found, rows = stream.run_weights(range(T)), by_asking(stream, T, sum(SIZES))
    np.testing.assert_allclose(found.clients, np.bincount(np.repeat(range(4), SIZES), rows), atol=1e-7)
    assert found.effective == pytest.approx(effective_samples(rows), rel=1e-6)
    totals = np.array([stream.totals(t) for t in range(T)])
    np.testing.assert_allclose(found.rounds, totals.sum(axis=1) / totals.sum(), atol=1e-12)
    np.testing.assert_allclose(found.clients, totals.sum(axis=0) / totals.sum(), atol=1e-7)
    assert found.rows.tolist() == stream.arrivals.arrived(T - 1).tolist()
    assert found.effective <= found.rows.sum() * (1 + 1e-9)
    assert found.fraction == pytest.approx(found.effective / found.rows.sum())


def test_rows_that_a_memory_has_no_capacity_for_count_nothing():
    stream = begun("spread:4", "replace:1", "uniform")
    found = stream.run_weights(range(4))
    assert found.effective == pytest.approx(16, rel=0.2)
    assert found.fraction < 0.2


def test_rounds_that_repeat_count_as_often_as_they_take_place():
    stream = begun("constant:3,1", "replace", "memory-size")
    held = HeldSteps(stream, 3)
    whole, inner = held.run_weights(range(6)), stream.run_weights([0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(whole.rounds, inner.rounds)
    np.testing.assert_allclose(whole.rounds.sum(), 1)
    np.testing.assert_allclose(whole.clients, stream.run_weights([0, 1]).clients)
    clocked = ClockedStream(stream)
    for number, time in enumerate([0.5, 1.5, 3.0]):
        clocked.tick(number, time)
    np.testing.assert_allclose(
        clocked.run_weights(range(4)).clients, stream.run_weights([0, 0, 1, 3]).clients
    )


class Youngest(StreamWeights):
    """Rows count less with every row that came after them."""

    def shares(self, clients):
        return np.ones(len(clients.totals))

    def of_rows(self, ages, held):
        owner = np.repeat(np.arange(len(held)), held)
        raw = 0.5 ** np.asarray(ages)
        means = np.bincount(owner, raw, minlength=len(held)) / np.maximum(held, 1)
        return (raw / means[owner]).astype(np.float32)


def test_weights_of_ones_own_by_the_ages_of_rows():
    stream = begun("constant:2", "fifo:4", Youngest())
    found = stream.run_weights(range(T))
    rows = by_asking(stream, T, sum(SIZES))
    assert found.effective == pytest.approx(effective_samples(rows), rel=1e-6)
    assert found.effective != pytest.approx(
        begun("constant:2", "fifo:4", "importance").run_weights(range(T)).effective
    )


def test_where_nothing_counts_and_where_nobody_knows():
    found = begun("constant:0.05", "fifo", "memory-size").run_weights(range(3))
    assert found.effective == found.fraction == 0
    assert not found.rounds.any()
    assert Stream().run_weights(range(3)) is None
