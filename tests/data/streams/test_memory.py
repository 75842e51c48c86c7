"""Do clients keep what the rule says?  (Against rules that are played row by row.)"""

import time

import numpy as np
import pytest

from unalike import ConfigError, Federation, MemoryStream
from unalike.data.streams import memory_registry

from . import naive

SIZES = [30, 7, 50, 1, 20]
RULES = {
    "fifo": naive.fifo,
    "fifo:6": naive.fifo,
    "replace": naive.replace,
    "replace:2": naive.replace,
    "freeze": naive.freeze,
    "freeze:2": naive.freeze,
    "window:3": naive.Window(3),
    "window:4,5": naive.Window(4),
    "reservoir:6": naive.reservoir,
    "balanced:6": naive.balanced,
}
ARRIVALS = ("constant:3", "constant:0.5", "poisson:2", "bursts:9,3", "historical")


def federation(sizes=SIZES, classes=3):
    total = sum(sizes)
    labels = (np.random.default_rng(5).random(total) ** 3 * classes).astype(np.int64)  # some classes are rare
    return Federation.from_owners(
        np.arange(total, dtype=np.float32)[:, None],
        labels,
        np.repeat(np.arange(len(sizes)), sizes),
        classes=classes,
    )


def begun(arrivals, memory, clients=None, **options):
    stream = MemoryStream(arrivals, memory, **options)
    stream.begin(clients or federation(), seed=3)
    return stream


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_equals_the_one_that_is_played_row_by_row(rule, arrivals):
    clients = federation()
    stream = begun(arrivals, rule, clients)
    update = naive.Window(RULES[rule].rounds) if rule.startswith("window") else RULES[rule]
    memories = [[] for _ in SIZES]
    for round, batches in enumerate(naive.batches(stream.arrivals, 14)):
        for c, batch in enumerate(batches):
            order = stream._order[clients.train.offsets[c] : clients.train.offsets[c + 1]]
            labels = clients.train.y[order]
            memories[c] = update(
                memories[c], batch, stream.memory.capacity, seed=3, client=c, labels=labels.tolist()
            )
            found = stream.select(round, np.array([c]))
            assert sorted(order[memories[c]]) == found.rows.tolist(), (round, c)
            assert stream.held(round)[c] == len(memories[c])


@pytest.mark.parametrize("rule", RULES)
def test_clients_are_selected_together_as_alone(rule):
    stream = begun("poisson:2", rule)
    some = np.array([4, 0, 2])
    together = stream.select(6, some)
    for i, c in enumerate(some):
        rows = together.rows[together.offsets[i] : together.offsets[i + 1]]
        assert rows.tolist() == stream.select(6, np.array([c])).rows.tolist()


@pytest.mark.parametrize("rule", ["reservoir:6", "balanced:6"])
def test_a_row_that_was_given_away_never_comes_back(rule):
    stream, gone, before = begun("constant:2", rule), set(), set()
    for round in range(25):
        now = set(stream.select(round, np.array([2])).rows.tolist())
        gone |= before - now
        assert not now & gone
        before = now


def test_a_reservoir_keeps_every_row_equally_often():
    clients = federation([10])
    counts = np.zeros(10)
    for seed in range(500):
        stream = MemoryStream("historical", "reservoir:4", ordered=True)
        stream.begin(clients, seed)
        counts[stream.select(0, np.array([0])).rows] += 1
    assert counts == pytest.approx(np.full(10, 200), abs=45)


def test_a_balanced_memory_has_as_many_rows_of_each_class_as_possible():
    clients = federation([200])
    stream = begun("historical", "balanced:12", clients)
    kept = clients.train.y[stream.select(0, np.array([0])).rows]
    assert np.bincount(kept).tolist() == [4, 4, 4]


def test_historical_clients_have_room_for_all_of_their_rows():
    stream = begun("constant:3,2", "replace:2")
    assert stream.held(5).tolist() == [30, 7, 2, 0, 2]
    assert stream.select(5, np.array([0])).rows.tolist() == list(range(30))


def test_clients_that_leave_take_their_rows_along():
    stream = begun("intermittent:5,1", "fifo")
    assert sorted(sum(stream.held(round) for round in range(5)).tolist()) == sorted(SIZES)
    assert [int((stream.held(round) > 0).sum()) for round in range(6)] == [1, 1, 1, 1, 1, 0]


def test_rows_arrive_shuffled_unless_they_are_ordered():
    ordered, shuffled = begun("constant:3", None, ordered=True), begun("constant:3", None)
    assert ordered.select(1, np.array([0])).rows.tolist() == [0, 1, 2, 3, 4, 5]
    assert shuffled.select(1, np.array([0])).rows.tolist() != [0, 1, 2, 3, 4, 5]


def test_arrivals_may_be_larger_than_the_memory():
    assert begun("constant:10", 4).held(0).tolist() == [4, 4, 4, 1, 4]


@pytest.mark.parametrize(
    "words", [0, -3, "fifo:0", "fifo:1.5", "2.5", "window:0", "reservoir:0", "reservoir", "hoard"]
)
def test_words_that_cannot_be_meant_are_refused(words):
    with pytest.raises(ConfigError):
        MemoryStream("historical", words)


def test_a_balanced_memory_needs_classes():
    x = np.zeros((4, 1), np.float32)
    clients = Federation.from_owners(x, np.ones(4, np.float32), np.zeros(4, np.int64), classes=None)
    with pytest.raises(ConfigError, match="needs one class per row"):
        begun("historical", "balanced:2", clients)


def test_every_rule_says_what_it_is():
    assert all(memory_registry.explain().values())


@pytest.mark.parametrize("rule", ["fifo:500", "reservoir:500", "balanced:500"])
def test_a_million_arrivals_are_chosen_from_quickly(rule):
    stream = begun("historical", rule, federation([10_000] * 100))
    began = time.perf_counter()
    stream.select(0, np.arange(100))
    assert time.perf_counter() - began < 3
