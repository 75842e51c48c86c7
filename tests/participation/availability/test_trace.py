"""A recorded trace is replayed as it was, and a file that makes no sense is refused with its line."""

import json
import time

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation.availability import Trace, availability_registry, simulate, write_trace

RECORDED = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0]], bool)


def read(path, clients=3, after="stop"):
    return availability_registry.make(f"trace:{path},{after}", clients=clients, seed=0)


@pytest.mark.parametrize("name", ["t.csv", "t.json", "t.txt"])
def test_what_is_written_is_replayed(tmp_path, name):
    write_trace(tmp_path / name, RECORDED)
    np.testing.assert_array_equal(simulate(read(tmp_path / name), 4), RECORDED)


def test_the_files_are_what_the_format_says(tmp_path):
    write_trace(tmp_path / "t.csv", RECORDED)
    assert (tmp_path / "t.csv").read_text() == "round,client\n0,0\n0,2\n1,\n2,0\n2,1\n3,1\n"
    write_trace(tmp_path / "t.json", RECORDED)
    assert json.loads((tmp_path / "t.json").read_text()) == [[0, 2], [], [0, 1], [1]]


def test_lines_may_come_in_any_order_with_spaces_and_windows_endings(tmp_path):
    (tmp_path / "t.csv").write_bytes(
        b"\xef\xbb\xbfround, client\r\n3,1\r\n2, 1\r\n0,2\r\n2,0\r\n1,\r\n0,0\r\n\r\n"
    )
    np.testing.assert_array_equal(simulate(read(tmp_path / "t.csv"), 4), RECORDED)


def test_clients_who_were_never_there_are_known(tmp_path):
    write_trace(tmp_path / "t.csv", RECORDED)
    np.testing.assert_array_equal(read(tmp_path / "t.csv", clients=5).active, [0.5, 0.5, 0.25, 0, 0])


def naive_correlation(column, wrap):
    pairs = list(zip(column, [*column[1:], column[0]] if wrap else column[1:], strict=False))
    after_there = [now for before, now in pairs if before]
    after_away = [now for before, now in pairs if not before]
    if not after_there or not after_away:
        return 0.0
    return np.mean(after_there) - np.mean(after_away)


@pytest.mark.parametrize("after", ["stop", "repeat"])
def test_availability_and_correlation_are_counted(after):
    table = np.random.default_rng(2).random((30, 40)) < np.linspace(0, 1, 40)
    trace = Trace(table, after)
    np.testing.assert_allclose(trace.active, table.mean(axis=0))
    expected = [naive_correlation(column, after == "repeat") for column in table.T]
    np.testing.assert_allclose(trace.correlation, expected, atol=1e-12)


def test_a_repeated_trace_has_the_autocorrelation_of_its_cycle():
    table = np.random.default_rng(3).random((50, 6)) < 0.4
    centered = table - table.mean(axis=0)
    cycle = (centered * np.roll(centered, -1, axis=0)).mean(axis=0) / centered.var(axis=0)
    np.testing.assert_allclose(Trace(table, "repeat").correlation, cycle, atol=1e-12)


def test_one_round_is_enough_and_has_no_correlation():
    for after in ("stop", "repeat"):
        np.testing.assert_array_equal(Trace(RECORDED[:1], after).correlation, 0)


def test_a_trace_that_repeats_begins_again():
    np.testing.assert_array_equal(simulate(Trace(RECORDED, "repeat"), 9), np.tile(RECORDED, (3, 1))[:9])


def test_a_trace_that_stops_refuses_longer_runs():
    trace = Trace(RECORDED)
    trace.check(3, rounds=4)
    with pytest.raises(ConfigError, match="the trace has 4 rounds, fewer than the 5 of this run"):
        trace.check(3, rounds=5)
    with pytest.raises(ConfigError, match="does not say who is there in 4"):
        trace.present(4, np.random.default_rng(0))
    Trace(RECORDED, "repeat").check(3, rounds=500)


def test_a_million_lines_are_read_in_a_moment(tmp_path):
    table = np.random.default_rng(0).random((250, 10_000)) < 0.4
    write_trace(tmp_path / "t.csv", table)
    start = time.perf_counter()
    trace = read(tmp_path / "t.csv", clients=10_000)
    assert time.perf_counter() - start < 20  # a second or so; a slow machine is no failure
    np.testing.assert_array_equal(trace.present(249, np.random.default_rng(0)), table[249])
    np.testing.assert_allclose(trace.active, table.mean(axis=0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"t.csv is empty; it needs the header round,client"),
        (" \n\n", "t.csv is empty"),
        ("round,client\n", "has a header but no rounds"),
        ("0,1\n1,2\n", "line 1 of t.csv must be the header round,client, but is '0,1'"),
        ("round,client\n0,1\n0,three\n", "line 3 of t.csv is '0,three'; it must be two whole numbers"),
        ("round,client\n0,1\n0,-2\n", "line 3 of t.csv is '0,-2'"),
        ("round,client\n0,1.5\n", "line 2 of t.csv is '0,1.5'"),
        ("round,client\n0,1,2\n", "line 2 of t.csv is '0,1,2'"),
        ("round,client\n0\n", "line 2 of t.csv is '0'"),
        ("round,client\n,1\n", "line 2 of t.csv is ',1'"),
        ("round,client\n0,1\n\n1,1\n", "line 3 of t.csv is ''"),
        ("round,client\n0,٣\n", "line 2 of t.csv is '0,٣'"),
        ("round,client\n0,99999999999999999999999\n", "line 2 of t.csv is '0,9"),
        ("round,client\n0,1\n0,3\n", "line 3 of t.csv names client 3, but there are 3, numbered from 0"),
        ("round,client\n0,1\n1,2\n4,1\n", "line 4 of t.csv names round 4, but there is no round 2"),
        ("round,client\n1,1\n", "line 2 of t.csv names round 1, but there is no round 0"),
        ("round,client\n0,1\n999999999999999999,1\n", "no round 1; rounds are numbered from 0 without gaps"),
        ("round,client\n0,1\n0,2\n0,1\n", "line 4 of t.csv repeats that client 1 is there in round 0"),
        ("round,client\n0,\n0,\n", "line 3 of t.csv repeats that nobody is there in round 0"),
        ("round,client\n0,1\n0,\n", "line 3 of t.csv says that nobody is there in round 0, but other lines"),
    ],
)
def test_a_wrong_csv_is_refused_with_its_line(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.json is empty"),
        ("[[0], [1}", "t.json is not JSON"),
        ("[" * 100_000, "t.json is not JSON"),
        ("{}", "must be a list with one list of client numbers per round"),
        ("[]", "must be a list with one list of client numbers per round"),
        ("[[0], 1]", "round 1 of t.json must be a list of client numbers, but is '1'"),
        ('[["0"]]', "round 0 of t.json holds '0'; clients are whole numbers from 0 to 2"),
        ("[[true]]", "round 0 of t.json holds 'True'"),
        ("[[1.0]]", "round 0 of t.json holds '1.0'"),
        ("[[NaN]]", "round 0 of t.json holds 'nan'"),
        ("[[0], [-1]]", "round 1 of t.json holds '-1'"),
        ("[[0], [3]]", "round 1 of t.json holds '3'"),
        ("[[0], [1e400]]", "round 1 of t.json holds 'inf'"),
        ("[[12345678901234567890]]", "round 0 of t.json holds '12345678901234567890'"),
        ("[[0], [2, 1, 2]]", "round 1 of t.json repeats that client 2 is there in round 1"),
    ],
)
def test_a_wrong_json_is_refused_with_its_round(tmp_path, text, message):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read(tmp_path / "t.json")


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere.csv' cannot be read \(.*No such file"):
        read(tmp_path / "nowhere.csv")
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path)
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        read(tmp_path / "t.csv")
    with pytest.raises(ConfigError, match="'7' cannot be read"):
        availability_registry.make("trace:7", clients=3, seed=0)


def test_what_follows_the_last_round_has_two_names():
    with pytest.raises(ConfigError, match=r"unknown ending of a trace 'repaet'; did you mean 'repeat'\?"):
        Trace(RECORDED, "repaet")


@pytest.mark.parametrize("table", [np.ones(3, bool), np.ones((2, 2)), np.zeros((0, 3), bool), [["a"]]])
def test_a_table_is_rounds_by_clients_of_true_and_false(tmp_path, table):
    with pytest.raises(ConfigError, match="a table of true and false with one row per round"):
        Trace(table)
    with pytest.raises(ConfigError, match="a table of true and false"):
        write_trace(tmp_path / "t.csv", table)
