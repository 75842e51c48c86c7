"""What was written of a round is read back exactly, in whole or not at all."""

import sqlite3
import time

import numpy as np
import pytest

from unalike.errors import RunError
from unalike.runs import Record


@pytest.fixture
def record(tmp_path):
    with Record(tmp_path / "metrics.sqlite") as record:
        yield record


def test_columns_are_sorted_by_round_with_nan_where_nothing_was_measured(record):
    record.write_round(2, {"loss": 0.5})
    record.write_round(1, {"loss": 1.0, "accuracy": 0.25})
    record.write_round(3, {})
    columns = record.metrics()
    np.testing.assert_array_equal(columns["round"], [1, 2, 3])
    np.testing.assert_array_equal(columns["loss"], [1.0, 0.5, np.nan])
    np.testing.assert_array_equal(columns["accuracy"], [0.25, np.nan, np.nan])
    assert record.last_round() == 3


def test_an_empty_record_has_no_rounds(record):
    assert record.last_round() is None
    assert record.metrics()["round"].size == 0
    assert record.client_metrics()["client"].size == 0
    assert record.events() == []
    assert record.timings()["seconds"].size == 0


def test_floats_come_back_bit_for_bit(record):
    values = {str(i): v for i, v in enumerate(np.random.default_rng(0).normal(size=50))}
    record.write_round(0, {**values, "nan": np.nan, "inf": np.inf, "tiny": 5e-324})
    columns = record.metrics()
    assert all(columns[name][0] == value for name, value in values.items())
    assert np.isnan(columns["nan"][0])
    assert columns["inf"][0] == np.inf
    assert columns["tiny"][0] == 5e-324


def test_clients_keep_their_order_and_their_names(record):
    clients = {
        "client": np.array(["zoe", "<b>", "ann"]),
        "loss": [0.1, np.nan, 0.3],
        "size": np.array([3, 1, 2]),
    }
    record.write_round(4, {}, clients=clients)
    record.write_round(5, {"loss": 1.0})
    found = record.client_metrics()
    assert found["client"].tolist() == ["zoe", "<b>", "ann"]
    np.testing.assert_array_equal(found["loss"], [0.1, np.nan, 0.3])
    np.testing.assert_array_equal(found["size"], [3.0, 1.0, 2.0])
    assert record.client_metrics(5)["client"].size == 0


def test_numpy_numbers_are_stored_as_numbers(record):
    record.write_round(
        np.int64(3), {"loss": np.float32(0.5)}, events=[{"kind": "late", "client": np.int64(7)}]
    )
    assert record.events() == [{"round": 3, "kind": "late", "client": 7}]
    assert record.last_round() == 3


def test_events_keep_their_order_and_details(record):
    events = [{"kind": "rejected", "client": "a", "norm": 3.5, "rows": np.arange(2)}, {"kind": "resumed"}]
    record.write_round(1, {}, events=events)
    assert record.events() == [
        {"round": 1, "kind": "rejected", "client": "a", "norm": 3.5, "rows": [0, 1]},
        {"round": 1, "kind": "resumed", "client": None},
    ]


def test_a_column_may_come_when_all_rounds_are_over(tmp_path):
    with Record(tmp_path / "rounds.sqlite") as record:
        for round in (1, 2):
            record.write_round(round, {"train_loss": 0.5, "round_weight": 0.0})
        record.write_column("round_weight", {1: 0.25, 2: 0.75})
        np.testing.assert_array_equal(record.metrics()["round_weight"], [0.25, 0.75])
        np.testing.assert_array_equal(record.metrics()["train_loss"], [0.5, 0.5])
        record.check_digests()


def test_seconds_are_kept_apart(record):
    record.write_round(1, {"loss": 1.0}, seconds=0.5)
    assert "seconds" not in record.metrics()
    assert record.timings()["seconds"].tolist() == [0.5]


def test_rewinding_forgets_what_came_later_everywhere(record):
    for round in range(6):
        record.write_round(
            round, {"x": round}, {"client": [0], "y": [round]}, [{"kind": "late"}], seconds=1.0
        )
    record.rewind(3)
    assert record.metrics()["round"].tolist() == [0, 1, 2, 3]
    assert record.client_metrics()["y"].tolist() == [3.0]
    assert [event["round"] for event in record.events()] == [0, 1, 2, 3]
    assert record.timings()["round"].tolist() == [0, 1, 2, 3]


def test_writing_a_round_again_replaces_same_names_and_keeps_others(record):
    record.write_round(1, {"a": 1.0, "b": 2.0}, {"client": [0, 1], "y": [1, 2]})
    record.write_round(1, {"a": 3.0}, {"client": [5], "y": [9]})
    columns = record.metrics()
    assert (columns["a"][0], columns["b"][0]) == (3.0, 2.0)
    assert record.client_metrics()["client"].tolist() == [5]


@pytest.mark.parametrize("commit_every", [1, 10])
def test_a_round_that_fails_half_way_leaves_no_trace(tmp_path, commit_every):
    record = Record(tmp_path / "m.sqlite", commit_every=commit_every)
    record.write_round(1, {"loss": 1.0})
    with pytest.raises(RunError, match="column 'y' has shape"):
        record.write_round(2, {"loss": 2.0}, clients={"client": [0, 1], "y": [1.0]})
    record.write_round(3, {"loss": 3.0})
    assert record.metrics()["round"].tolist() == [1, 3]
    record.close()
    assert Record(tmp_path / "m.sqlite", read_only=True).metrics()["loss"].tolist() == [1.0, 3.0]


def test_groups_of_rounds_are_committed_together(tmp_path):
    writer = Record(tmp_path / "m.sqlite", commit_every=3)
    reader = Record(tmp_path / "m.sqlite", read_only=True)
    seen = []
    for round in range(7):
        writer.write_round(round, {"x": 0.0})
        seen.append(reader.metrics()["round"].size)
    assert seen == [0, 0, 3, 3, 3, 6, 6]
    writer.flush()
    assert reader.metrics()["round"].size == 7


def test_a_reader_cannot_write(tmp_path):
    Record(tmp_path / "m.sqlite").close()
    with pytest.raises(RunError, match="cannot use record"):
        Record(tmp_path / "m.sqlite", read_only=True).write_round(1, {})
    with pytest.raises(RunError, match="there is no record"):
        Record(tmp_path / "other.sqlite", read_only=True)


def test_odd_paths_can_be_read(tmp_path):
    path = tmp_path / "100% 'sure'?#1.sqlite"
    with Record(path) as record:
        record.write_round(1, {"x": 1.0})
    assert Record(path, read_only=True).last_round() == 1


def test_meta_is_kept(record):
    record.set_meta("finished", "true")
    record.set_meta("finished", "false")
    assert record.meta() == {"finished": "false"}


@pytest.mark.parametrize("harm", ["garbage", "cut"])
def test_a_damaged_file_is_one_sentence(tmp_path, harm):
    path = tmp_path / "m.sqlite"
    with Record(path) as record:
        for round in range(500):
            record.write_round(round, {"loss": 1.0, "accuracy": 0.5})
    content = path.read_bytes()
    path.write_bytes(b"not a database " * 500 if harm == "garbage" else content[: len(content) // 2])
    with pytest.raises(RunError, match="damaged"):
        Record(path).check()


def test_a_full_disk_is_one_sentence_and_earlier_rounds_stay(tmp_path):
    path = tmp_path / "m.sqlite"
    record = Record(path)
    record.write_round(1, {"loss": 1.0})
    record._database.execute("PRAGMA max_page_count = 20")  # SQLite's own way to run out of room
    with pytest.raises(RunError, match="disk full"):
        record.write_round(2, {}, clients={"client": np.arange(10_000), "x": np.zeros(10_000)})
    assert record.metrics()["round"].tolist() == [1]
    record.close()
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_round_costs_under_a_millisecond_and_ten_thousand_clients_under_a_second(record):
    metrics = {f"metric_{i}": float(i) for i in range(10)}
    start = time.perf_counter()
    for round in range(300):
        record.write_round(round, metrics, seconds=0.1)
    assert (time.perf_counter() - start) / 300 < 1e-3
    start = time.perf_counter()
    columns = {f"column_{i}": np.zeros(10_000) for i in range(4)}
    record.write_round(300, metrics, clients={"client": np.arange(10_000), **columns})
    assert time.perf_counter() - start < 1
