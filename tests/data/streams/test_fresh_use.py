"""In how many rounds are fresh rows used, and who is told?"""

import numpy as np
import pytest

from unalike import MemoryStream
from unalike.data.streams import ClockedStream, Stream
from unalike.data.streams.fresh_use import FreshUse

from .naive import batches
from .test_memory import federation

T = 10


def use(arrivals, memory, weights="optimal:0.3", rounds=T):
    stream = MemoryStream(arrivals, memory, weights)
    stream.begin(federation([30, 10, 40, 20]), 1, rounds)
    return stream.fresh_use()


@pytest.mark.parametrize(
    ("arrivals", "memory", "longest"),
    [
        ("spread:10,2", "replace", 1),
        ("constant:1,2", "fifo:1", 1),
        ("constant:1,2", "fifo:5", 5),
        ("constant:1,2", "window:3", 3),
        ("spread:10,2", "fifo", 10),
        ("constant:0.5,2", "replace", 1),
    ],
)
def test_a_row_is_used_as_long_as_the_memory_has_capacity(arrivals, memory, longest):
    found = use(arrivals, memory)
    assert found.longest == longest
    assert found.is_single == (longest == 1)


@pytest.mark.parametrize("arrivals", ["poisson:3,1", "bursts:8,3,1", "constant:4,1"])
def test_rows_of_a_round_are_counted_one_by_one(arrivals):
    stream = MemoryStream(arrivals, "replace", "optimal:0.3")
    stream.begin(federation([30, 10, 40, 20]), 1, T)
    received = np.array([[len(batch) for batch in row] for row in batches(stream.arrivals, T)])[:, 1:]
    spreads = np.ptp(received, axis=0)
    found = stream.fresh_use()
    assert found.most - found.fewest == spreads.max()
    assert not found.is_single  # rows of constant:4 are used up before the end


def test_only_optimal_weights_assume_anything_and_only_of_clients_who_stay():
    assert use("constant:1,2", "fifo:5", "uniform") is None
    assert use("historical", "fifo:5") is None
    assert use("intermittent:10,3,2", "fifo") is None
    assert Stream().fresh_use() is None
    stream = ClockedStream(MemoryStream("constant:1,2", "fifo:5", "optimal:0.3"), until=8)
    stream.begin(federation([30, 10, 40, 20]), 1)
    assert stream.fresh_use().longest == 5
    # Until all have arrived, in round 40; those of the other client, who has 20 rows, have stayed since.
    assert use("constant:1,2", "fifo:5", rounds=None).longest == 40 - 15


def test_the_sentence_says_what_is_not_as_assumed():
    assert FreshUse(1, 0, 9).sentence == "a client receives between 0 and 9 rows a round"
    assert FreshUse(4, 0, 9).sentence.startswith("rows stay in memory for up to 4 rounds and a client")
