"""The record of a run, in SQLite.

One SQLite file. A round is written in one transaction, so after `kill -9` each round is there in whole or
not at all, and other processes may read while the run goes on. Wall-clock seconds are kept apart from the
metrics: they are the one thing that two equal runs do not share.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import RunError
from ..typing import Array, Event, Fields
from .columns import Columns, client_columns, client_rows, event_row, group_numbers, group_rows, round_columns
from .database import ROUND_TABLES, connect, damage, reporting
from .digests import ABOUT_THE_RUN, seal
from .record_seal import RecordSeal

_COLUMNS = {
    "rounds": "round",
    "metrics": "round, name, value",
    "client_metrics": "round, name, position, client, value",
    "events": "round, kind, client, detail",
    "groups": "round, name, kind, numbers",
    "timings": "round, seconds",
}
"""What a round consists of, by table."""


class Record:
    """The rounds of one run.

    With `commit_every` above one, rounds are committed in groups: faster, but a crash loses the last group.

    >>> record = Record(":memory:")
    >>> record.write_round(1, {"train_loss": 0.5}, events=[{"kind": "late", "client": 3}])
    >>> record.write_round(2, {"train_loss": 0.25, "test_accuracy": 0.9})
    >>> record.metrics()
    {'round': array([1, 2]), 'test_accuracy': array([nan, 0.9]), 'train_loss': array([0.5 , 0.25])}
    >>> record.events()
    [{'round': 1, 'kind': 'late', 'client': 3}]
    """

    def __init__(self, path: str | Path, *, read_only: bool = False, commit_every: int = 1) -> None:
        self.path = path
        self.commit_every = commit_every
        self._uncommitted = 0
        with reporting(path):
            self._database = connect(path, read_only)
            self._run_seal = RecordSeal.of(path)
            if self._run_seal is not None and not read_only:
                self._run_seal.prepare(self._database)

    def write_round(
        self,
        round: int,
        metrics: Mapping[str, float],
        clients: Mapping[str, ArrayLike] | None = None,
        events: Sequence[Fields] = (),
        seconds: float | None = None,
        groups: Mapping[str, Array] | None = None,
    ) -> None:
        """Write what is known of a round at once; `clients` has a column `client` and named float columns,
        `groups` are lists of clients, such as who took part, or of what belongs to them.

        Writing a round again replaces the values of the same name and keeps the others; events are added.
        """
        round = int(round)
        with self._all_or_nothing():
            self._insert("rounds (round)", [(round,)])
            self._insert("metrics (round, name, value)", [(round, k, float(v)) for k, v in metrics.items()])
            self._insert(
                "events (round, kind, client, detail)", [event_row(round, event) for event in events]
            )
            if clients is not None:
                self._write_clients(round, clients)
            if groups:
                self._insert("groups (round, name, kind, numbers)", group_rows(round, groups))
            if seconds is not None:
                self._insert("timings (round, seconds)", [(round, float(seconds))])
            self._seal(round)
        self._uncommitted += 1
        if self._uncommitted >= self.commit_every:
            self.commit()

    def write_column(self, name: str, values: Mapping[int, float]) -> None:
        """Write one number of rounds that were written before, at once: what is known of each only when all
        are over."""
        with self._all_or_nothing():
            self._insert("metrics (round, name, value)", [(t, name, float(v)) for t, v in values.items()])
            for round in values:
                self._seal(int(round))
        self.commit()

    def rewind(self, round: int) -> None:
        """Forget everything after a round."""
        with self._all_or_nothing():
            for table in ROUND_TABLES:
                self._database.execute(f"DELETE FROM {table} WHERE round > ?", (int(round),))
            self._seal_again()
        self.commit()

    def erase(self, words: Iterable[str] = ()) -> None:
        """Forget all rounds and some words about the run, and leave nothing of them in the file."""
        self.commit()
        with reporting(self.path):
            self._database.execute("PRAGMA secure_delete = ON")
        with self._all_or_nothing():
            for table in ROUND_TABLES:
                self._database.execute(f"DELETE FROM {table} WHERE round <> ?", (ABOUT_THE_RUN,))
            for word in words:
                self._database.execute("DELETE FROM meta WHERE key = ?", (word,))
            self._seal_again()
            self._seal(ABOUT_THE_RUN)
        self.commit()
        for command in ("PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
            self._rows(command)

    def copy_rounds(self, other: Record, without: Collection[int] = ()) -> None:
        """Write the rounds of another record here, without what was measured of some clients."""
        with self._all_or_nothing():
            for table, columns in _COLUMNS.items():
                rows = other._rows(f"SELECT {columns} FROM {table}")
                place = columns.split(", ").index("client") if "client" in columns else None
                kept = [row for row in rows if place is None or row[place] not in without]
                self._insert(f"{table} ({columns})", kept)
            for (round,) in other._rows("SELECT round FROM rounds ORDER BY round"):
                self._seal(round)
        self.commit()

    def commit(self) -> None:
        """Make the rounds written so far survive the end of this process."""
        if self._database.in_transaction:
            with reporting(self.path):
                self._database.execute("COMMIT")
        self._uncommitted = 0

    def flush(self) -> None:
        """Make the rounds written so far survive a power cut; call it before saving a checkpoint."""
        self._cover()
        self.commit()
        self._rows("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        """Commit and close."""
        try:
            self._cover()
            self.commit()
        finally:
            self._database.close()

    def __enter__(self) -> Record:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def last_round(self) -> int | None:
        """The newest round, or None when there is none."""
        return self._rows("SELECT max(round) FROM rounds")[0][0]

    def metrics(self) -> Columns:
        """A column `round` and one per metric, in the order of rounds; NaN where nothing was measured."""
        rounds = np.array(self._rows("SELECT round FROM rounds ORDER BY round"), dtype=np.int64).reshape(-1)
        rows = self._rows("SELECT round, name, value FROM metrics")
        return {"round": rounds, **round_columns(rows, rounds)}

    def timings(self) -> Columns:
        """Columns `round` and `seconds` of the rounds that were timed."""
        rows = self._rows("SELECT round, seconds FROM timings ORDER BY round")
        table = np.array(rows, dtype=float).reshape(-1, 2)
        return {"round": table[:, 0].astype(np.int64), "seconds": table[:, 1]}

    def client_metrics(self, round: int | None = None) -> Columns:
        """A column `client` and one per measure, for a round or for the last that measured clients."""
        if round is None:
            round = self._rows("SELECT max(round) FROM client_metrics")[0][0]
        query = (
            "SELECT name, position, client, value FROM client_metrics WHERE round = ? ORDER BY name, position"
        )
        return client_columns(self._rows(query, round))

    def rounds_with_clients(self, measure: str) -> list[int]:
        """The rounds that have a measure, such as `test_loss`, of single clients."""
        query = "SELECT DISTINCT round FROM client_metrics WHERE name = ? ORDER BY round"
        return [row[0] for row in self._rows(query, measure)]

    def groups(self, name: str) -> dict[int, Array]:
        """The clients of a group (`used`, `available`, `excluded`, ...) in every round that has it; or, in
        the order of the clients used, their `weights`, `versions`, and when they `started` and `finished`."""
        rows = self._rows("SELECT round, kind, numbers FROM groups WHERE name = ? ORDER BY round", name)
        return {round: group_numbers(kind, numbers) for round, kind, numbers in rows}

    def events(self) -> list[Event]:
        """Everything unusual, in the order of rounds: dicts of `round`, `kind`, `client` and details."""
        rows = self._rows("SELECT round, kind, client, detail FROM events ORDER BY round, rowid")
        return [{"round": r, "kind": k, "client": c, **json.loads(detail)} for r, k, c, detail in rows]

    def set_meta(self, key: str, value: str) -> None:
        """Remember a word about the run, at once."""
        with self._all_or_nothing():
            self._insert("meta (key, value)", [(key, value)])
            self._seal(ABOUT_THE_RUN)
            if self._run_seal is not None:
                self._run_seal.write(self._database)
        self.commit()

    def meta(self) -> dict[str, str]:
        """The words about the run."""
        return dict(self._rows("SELECT key, value FROM meta"))

    def check(self) -> None:
        """Read the whole file and raise if it is not the record of a run."""
        with reporting(self.path):
            found = damage(self._database, self._run_seal)
        if found:
            raise RunError(f"record {self.path} is damaged ({found}).")

    def _seal(self, round: int) -> None:
        if str(self.path) != ":memory:":  # what is never on a disk is not damaged there
            before = seal(self._database, round)
            if self._run_seal is not None:
                self._run_seal.replace(self._database, round, before)

    def _seal_again(self) -> None:
        """Rounds were deleted."""
        if self._run_seal is not None:
            self._run_seal.reset()
            self._run_seal.write(self._database)

    def _cover(self) -> None:
        """Seal the rounds that were written since the seal was written."""
        if self._run_seal is not None and self._run_seal.is_behind:
            with self._all_or_nothing():
                self._run_seal.write(self._database)

    def take_over(self) -> None:
        """Seal the record as that of the folder in which it is, whatever its seal says."""
        self.check_digests()
        with self._all_or_nothing():
            self._seal_again()
        self.commit()

    def check_digests(self) -> None:
        """Raise if a round is not as it was written, whoever wrote it."""
        with reporting(self.path):
            found = damage(self._database, None)
        if found:
            raise RunError(f"record {self.path} is damaged ({found}).")

    def _write_clients(self, round: int, clients: Mapping[str, ArrayLike]) -> None:
        for name in clients:
            self._database.execute("DELETE FROM client_metrics WHERE round = ? AND name = ?", (round, name))
        self._insert("client_metrics (round, name, position, client, value)", client_rows(round, clients))

    def _insert(self, target: str, rows: Iterable[tuple[object, ...]]) -> None:
        marks = ", ".join("?" * (target.count(",") + 1))
        self._database.executemany(f"INSERT OR REPLACE INTO {target} VALUES ({marks})", rows)

    def _rows(self, query: str, *values: object) -> list[Any]:
        with reporting(self.path):
            return self._database.execute(query, values).fetchall()

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo the block's writes if it fails, and only those: earlier rounds may share the transaction."""
        with reporting(self.path):
            if not self._database.in_transaction:
                self._database.execute("BEGIN IMMEDIATE")
            self._database.execute("SAVEPOINT block")
            try:
                yield
            except BaseException:
                self._undo_block()
                raise
            self._database.execute("RELEASE block")

    def _undo_block(self) -> None:
        if self._run_seal is not None:
            self._run_seal.forget()
        if self._database.in_transaction:  # when the disk is full, SQLite itself has undone everything
            self._database.execute("ROLLBACK TO block")
            self._database.execute("RELEASE block")
        if not self._uncommitted:
            self.commit()  # nothing of an earlier round is waiting: do not keep others from writing
