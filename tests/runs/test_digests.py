"""A record that was changed after it was written is refused, whichever bit it was."""

import sqlite3

import numpy as np
import pytest

from unalike.errors import RunError
from unalike.runs import Record


def write(path):
    with Record(path) as record:
        record.set_meta("keep", "2")
        for round in range(6):
            clients = {"client": np.arange(4), "test_loss": np.arange(4) / 7 + round}
            record.write_round(
                round,
                {"train_loss": 1 / (round + 3), "test_accuracy": 0.9 + round / 100},
                clients,
                [{"kind": "late", "client": round, "seconds": 1.5}],
                seconds=0.25,
                groups={"used": np.arange(3)},
            )
    with sqlite3.connect(path) as database:  # all of it in the one file
        database.execute("PRAGMA journal_mode = DELETE")


def read(path):
    """Everything that a record tells, after it was checked."""
    with Record(path, read_only=True) as record:
        record.check()
        columns = {**record.metrics(), **record.timings(), **record.client_metrics(3)}
        groups = {f"group {k}": v for k, v in record.groups("used").items()}
        words = (record.events(), record.meta(), record.last_round())
        return repr(({k: v.tolist() for k, v in {**columns, **groups}.items()}, words))


def test_what_was_written_is_read(tmp_path):
    write(tmp_path / "metrics.sqlite")
    assert "0.9" in read(tmp_path / "metrics.sqlite")


def test_no_flipped_byte_is_read_as_another_number(tmp_path):
    """Either the record is refused, or it says what it said: a byte in a page's free room means nothing."""
    path = tmp_path / "metrics.sqlite"
    write(path)
    said, whole = read(path), path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for place in rng.choice(len(whole), 400, replace=False):
        changed = bytearray(whole)
        changed[place] ^= 1 << rng.integers(8)
        path.write_bytes(changed)
        try:
            assert read(path) == said
        except RunError:
            refused += 1
    assert refused > 10


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE metrics SET value = value + 1e-12 WHERE round = 4 AND name = 'train_loss'",
        "UPDATE client_metrics SET client = 9 WHERE round = 4 AND position = 1",
        "UPDATE timings SET seconds = 9 WHERE round = 4",
        "UPDATE events SET round = 5 WHERE round = 4",
        "DELETE FROM groups WHERE round = 4",
        "DELETE FROM digests WHERE round = 4",
    ],
)
def test_the_round_that_was_changed_is_named(tmp_path, change):
    path = tmp_path / "metrics.sqlite"
    write(path)
    with sqlite3.connect(path) as database:
        database.execute(change)
    with pytest.raises(RunError, match=r"metrics\.sqlite is damaged .*round 4"):
        read(path)


def test_a_word_about_the_run_that_was_changed_is_found(tmp_path):
    path = tmp_path / "metrics.sqlite"
    write(path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE meta SET value = '3'")
    with pytest.raises(RunError, match="what it says of the run"):
        read(path)


def test_a_record_goes_on_after_a_rewind_and_after_rounds_that_are_written_twice(tmp_path):
    path = tmp_path / "metrics.sqlite"
    write(path)
    with Record(path) as record:
        record.rewind(3)
        record.write_round(3, {"unseen_loss": 0.5})
        record.write_round(4, {"train_loss": 0.1})
        record.check()


def test_a_record_from_before_there_were_digests_is_read_and_gets_them_when_it_goes_on(tmp_path):
    path = tmp_path / "metrics.sqlite"
    write(path)
    said = read(path)
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE digests")
        database.execute("DROP INDEX events_by_round")
    assert read(path) == said
    with Record(path) as record:
        record.write_round(6, {"train_loss": 0.1})
    with sqlite3.connect(path) as database:
        database.execute("UPDATE metrics SET value = 0 WHERE round = 2")
    with pytest.raises(RunError, match="round 2 is not as it was written"):
        read(path)
