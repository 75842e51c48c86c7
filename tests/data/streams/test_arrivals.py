"""Do rows arrive as the words say, whenever and in whatever order one asks?"""

import time

import numpy as np
import pytest

from unalike import ConfigError
from unalike.data.streams import arrival_registry
from unalike.data.streams.trace import RecordedArrivals

SIZES = np.array([40, 7, 100, 23, 60, 15])
WORDS = (
    "historical",
    "constant:3",
    "constant:0.4",
    "spread:9",
    "poisson:2.5",
    "bursts:8,4",
    "intermittent:6,2",
)


def begun(words, sizes=SIZES, seed=3):
    arrivals = arrival_registry.make(words)
    arrivals.begin(np.asarray(sizes), seed)
    return arrivals


@pytest.mark.parametrize("words", WORDS)
def test_counts_grow_and_end_with_a_clients_rows(words):
    arrivals = begun(words)
    counts = np.array([arrivals.arrived(round) for round in range(-1, 400)])
    assert (counts[0] == 0).all()
    assert (np.diff(counts, axis=0) >= 0).all()
    assert (counts[-1] == SIZES).all()


@pytest.mark.parametrize("words", WORDS)
def test_the_order_of_questions_does_not_matter(words):
    rounds = np.random.default_rng(0).permutation(np.repeat(np.arange(20), 2))
    one = begun(words)
    for round in rounds:
        np.testing.assert_array_equal(one.arrived(int(round)), begun(words).arrived(int(round)))


@pytest.mark.parametrize("words", WORDS)
def test_what_is_saved_changes_nothing(words):
    one, other = begun(words), begun(words)
    one.arrived(7)
    other.restore(one.state())
    np.testing.assert_array_equal(other.arrived(11), begun(words).arrived(11))


def test_constant_rates():
    assert begun("constant:3").arrived(4).tolist() == [15, 7, 15, 15, 15, 15]
    assert begun("constant:0.1", [100]).arrived(9).tolist() == [1]


def test_spread_rows_differ_by_at_most_one_and_the_larger_batches_come_first():
    counts = np.array([begun("spread:9").arrived(round) for round in range(-1, 9)])
    naive = [[n // 9 + (t < n % 9) for n in SIZES] for t in range(9)]
    assert np.diff(counts, axis=0).tolist() == naive


def test_poisson_counts_have_the_mean_and_variance_of_the_rate():
    many = begun("poisson:2.5", np.full(50_000, 1000))
    counts = many.arrived(0)
    assert counts.mean() == pytest.approx(2.5, abs=0.03)
    assert counts.var() == pytest.approx(2.5, abs=0.06)
    assert begun("poisson:300", np.full(5000, 9999)).arrived(0).var() == pytest.approx(300, rel=0.08)


def test_bursts_come_as_often_as_asked():
    many = begun("bursts:8,4", np.full(50_000, 1000)).arrived(0)
    assert set(many) == {0, 8}
    assert (many > 0).mean() == pytest.approx(0.25, abs=0.01)


def test_intermittent_clients_come_evenly_and_leave():
    arrivals = begun("intermittent:6,2")
    for round in range(10):
        there = arrivals.arrived(round) > arrivals.gone(round)
        assert there.sum() == (1 if round in (0, 6) else 2 if round < 6 else 0), round
    assert (begun("intermittent:6", seed=3).starts != begun("intermittent:6", seed=4).starts).any()


@pytest.mark.parametrize("words", ["constant:1,0.5", "constant:1,3", "poisson:1,0.5", "intermittent:6,1,0.5"])
def test_the_first_clients_may_have_everything_from_the_start(words):
    arrivals = begun(words)
    assert arrivals.historical.tolist() == [True] * 3 + [False] * 3
    assert (arrivals.arrived(0)[:3] == SIZES[:3]).all()
    assert (arrivals.gone(50)[:3] == 0).all()


def test_one_clients_arrivals_do_not_depend_on_the_others():
    assert (begun("poisson:2", SIZES[:2]).arrived(8) == begun("poisson:2").arrived(8)[:2]).all()


def test_a_million_arrivals_take_less_than_a_second():
    began = time.perf_counter()
    begun("poisson:5", np.full(10_000, 10**6)).arrived(99)
    assert time.perf_counter() - began < 1


def test_a_trace_is_replayed(tmp_path):
    path = tmp_path / "arrivals.csv"
    path.write_text("round,client,rows\n0,0,2\n0,1,5\n1,0,0\n2,0,3\n")
    arrivals = begun(f"trace:{path}", [9, 4])
    assert [arrivals.arrived(round).tolist() for round in range(4)] == [[2, 4], [2, 4], [5, 4], [5, 4]]
    assert arrivals.historical.tolist() == [False, True]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("0,0,1\n0,2,5", "names client 2, but there are 2"),
        ("0,0,1\n0,1,1\n2,0,1", "leaves out round 1"),
        ("0,0,1\n0,1,0", "never sends anything to client 1"),
        ("0,0,1\n0,1,1\n0,0,1", "says twice what client 0 receives"),
        ("0,0,1\n0,1,-1", "line 3"),
        ("0,0,1\n0,1", "line 3"),
        ("", "must begin with"),
    ],
)
def test_a_trace_that_cannot_be_meant_is_refused(tmp_path, lines, said):
    path = tmp_path / "arrivals.csv"
    path.write_text(f"round,client,rows\n{lines}\n")
    with pytest.raises(ConfigError, match=said):
        begun(f"trace:{path}", [9, 4])


@pytest.mark.parametrize(
    "words",
    [
        *("constant:0", "constant:-2", "constant:nan", "poisson:-1", "poisson:1e9", "bursts:5,0.5"),
        *("bursts:0.5,2", "spread:0", "intermittent:0", "intermittent:5,0", "constant:1,-1"),
        *("constant:1,1.5", "constant:1,7", "constant", "trace:nowhere.csv", "sometimes:3"),
    ],
)
def test_words_that_cannot_be_meant_are_refused_in_one_sentence(words):
    with pytest.raises(ConfigError) as refusal:
        begun(words)
    assert "\n" not in str(refusal.value)


def test_a_table_without_rounds_is_refused():
    with pytest.raises(ConfigError, match="holds no rounds"):
        RecordedArrivals(np.zeros((0, 3)))
