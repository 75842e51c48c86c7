"""Do clients count as the strategies of "Federated Learning for Data Streams", section 5, say?"""

import numpy as np
import pytest

from unalike import ConfigError, MemoryStream, data
from unalike.data.streams import GivenImportance
from unalike.data.streams.optimal_importance import optimal_importance
from unalike.data.streams.weights import MemorySize

from .test_memory import SIZES, federation

N = np.array(SIZES)
OLD = np.array([True, True, False, False, False])


def begun(arrivals="spread:10,2", memory="replace", weights="uniform", rounds=10, clients=None):
    stream = MemoryStream(arrivals, memory, weights)
    stream.begin(clients or federation(), 3, rounds)
    return stream


def shares(weights, holds):
    weights = np.where(holds, weights, 0.0)
    return weights / weights.sum() if weights.any() else weights


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("uniform", N / N.sum()),
        ("fresh", np.where(OLD, 0, N)),
        ("historical", np.where(OLD, N, 0)),
        ("fixed:0.3", np.where(OLD, 0.3 * N / N[OLD].sum(), 0.7 * N / N[~OLD].sum())),
        ("importance", N / N.sum()),
        ("optimal:0.3", optimal_importance(N / N.sum(), ~OLD, 0.3)),
    ],
)
def test_shares_are_those_of_the_strategy_among_clients_that_hold_rows(words, given):
    """A fresh client counts by its batch, a historical one the same in all of the 10 rounds; where nobody
    knows how many rounds there will be, clients that hold rows count the same in each."""
    stream, unknown = begun(weights=words), begun(weights=words, rounds=None)
    for round in range(10):
        parts = np.where(OLD, 0.1, stream.held(round) / N) if words != "importance" else 1.0
        holds = stream.held(round) > 0
        np.testing.assert_allclose(stream.importance(round), shares(given * parts, holds), atol=1e-12)
        np.testing.assert_allclose(unknown.importance(round), shares(given, holds), atol=1e-12)


def test_by_memory_size_every_row_counts_the_same():
    stream = begun("poisson:2", "fifo:5", "memory-size")
    for round in range(6):
        np.testing.assert_allclose(stream.importance(round), shares(stream.held(round), True))


def test_rows_that_do_not_arrive_during_the_run_do_not_count():
    stream = begun("constant:2,2", weights="uniform", rounds=4)
    np.testing.assert_allclose(stream.importance(0), shares(np.array([30 / 4, 7 / 4, 2, 1, 2]), True))


class Newest(MemorySize):
    """The newest row of a client has all of its weight."""

    def of_rows(self, ages, held):
        owner = np.repeat(np.arange(len(held)), held)
        return np.where(ages == 0, held[owner], 0).astype(np.float32)


def test_rows_of_a_client_may_weigh_differently():
    clients = federation()
    stream = MemoryStream("constant:2", "fifo:5", Newest(), ordered=True)
    stream.begin(clients, 3)
    found = stream.select(3, np.array([2, 0]))
    newest = clients.train.offsets[[2, 0]] + 7
    assert found.rows[found.weights > 0].tolist() == newest.tolist()
    assert found.weights.sum() == len(found.rows)


def test_given_shares():
    given = [0.1, 0.2, 0.3, 0.15, 0.25]
    assert begun("historical", None, GivenImportance(given)).importance(3) == pytest.approx(given)
    with pytest.raises(ConfigError, match="one number per client"):
        begun(weights=GivenImportance([0.5, 0.5]))


def test_shares_next_to_nothing_are_none():
    given = GivenImportance([1e-15, 0.5, 0.5 - 1e-15, 0, 0])
    assert begun("historical", None, given).importance(0)[0] == 0


def test_nobody_counts_where_nobody_holds_anything():
    stream = begun("constant:0.2", "replace", "memory-size")
    assert not stream.importance(0).any()
    assert stream.importance(4).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("arrivals", "weights", "said"),
    [
        ("constant:2", "historical", "no client has historical data"),
        ("constant:2", "fixed:0.5", "no client has historical data"),
        ("historical", "fresh", "no client receives fresh data"),
        ("constant:2,2", "fixed:1.5", "from 0 to 1"),
        ("constant:2,2", "fixed:-0.5", "from 0 to 1"),
    ],
)
def test_strategies_without_anybody_to_weigh_are_refused(arrivals, weights, said):
    with pytest.raises(ConfigError, match=said):
        begun(arrivals, weights=weights)


def test_without_fresh_clients_all_other_strategies_coincide():
    found = [
        begun("historical", None, words).importance(0) for words in ("uniform", "historical", "memory-size")
    ]
    np.testing.assert_allclose(found, [N / N.sum()] * 3)


def test_effective_samples_are_all_rows_where_all_count_the_same():
    stream = begun("historical", None, "uniform")
    columns = stream.columns(0)
    assert columns == pytest.approx({"arrived": N.sum(), "held": N.sum(), "effective_samples": N.sum()})
    assert stream.columns(1)["arrived"] == 0
    assert begun("historical", None, GivenImportance([1, 0, 0, 0, 0])).columns(0)[
        "effective_samples"
    ] == pytest.approx(30)


def test_the_memorys_bytes_are_those_of_its_rows():
    clients = federation()
    row = 4 + clients.train.y.itemsize
    assert begun("constant:2,1", 5, "memory-size").facts() == {"memory_bytes": (30 + 5 + 5 + 1 + 5) * row}


def test_a_longer_run_keeps_the_weights_that_it_began_with():
    short, long = begun("constant:2,2", rounds=4), begun("constant:2,2", rounds=9)
    assert not np.array_equal(short.importance(3), long.importance(3))
    long.restore(short.state())
    np.testing.assert_array_equal(short.importance(3), long.importance(3))


def test_a_part_of_a_stream_speaks_of_the_parts_rows():
    clients = federation()
    stream, some = begun(clients=clients), np.array([4, 0, 2])
    part = data.streams.StreamPart(stream, some, clients.train.offsets)
    rows = clients.subset(some).train.x
    for round in range(10):
        found, whole = part.select(round, np.array([1, 0])), stream.select(round, some[[1, 0]])
        np.testing.assert_array_equal(rows[found.rows], clients.train.x[whole.rows])
        np.testing.assert_array_equal(part.importance(round), stream.importance(round)[some])
