"""Opening the record's SQLite file, and errors when it is not one.

Write-ahead logging lets others read while a run writes. With `synchronous=NORMAL` a commit survives the end
of the process, however sudden, and a power cut can only lose the newest commits, never damage the file.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import RunError
from .digests import find_broken_round, seal_all
from .record_seal import RecordSeal

SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE rounds (round INTEGER PRIMARY KEY);
CREATE TABLE metrics (round INTEGER, name TEXT, value REAL, PRIMARY KEY (round, name)) WITHOUT ROWID;
CREATE TABLE client_metrics (round INTEGER, name TEXT, position INTEGER, client, value REAL,
                             PRIMARY KEY (round, name, position)) WITHOUT ROWID;
CREATE TABLE events (round INTEGER, kind TEXT, client, detail TEXT);
CREATE TABLE groups (round INTEGER, name TEXT, kind TEXT, numbers BLOB, PRIMARY KEY (round, name))
             WITHOUT ROWID;
CREATE TABLE timings (round INTEGER PRIMARY KEY, seconds REAL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
COMMIT;
"""
SEALED = """
BEGIN IMMEDIATE;
CREATE TABLE digests (round INTEGER PRIMARY KEY, digest BLOB);
CREATE INDEX events_by_round ON events (round);
"""
ROUND_TABLES = ("rounds", "metrics", "client_metrics", "events", "groups", "timings", "digests")


def connect(path: str | Path, read_only: bool) -> sqlite3.Connection:
    """A connection that leaves transactions to us; a new file gets the tables."""
    if read_only:
        return _connect_to_read(Path(path))
    if str(path) != ":memory:":  # SQLite would let others read it; its side files have the same mode
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    database = _open(str(path))
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    if not tables(database):
        database.executescript(SCHEMA)
    if "digests" not in tables(database):
        database.executescript(SEALED)
        seal_all(database)
        database.execute("COMMIT")
    return database


def tables(database: sqlite3.Connection) -> set[str]:
    """The names of the tables that are there."""
    return {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def damage(database: sqlite3.Connection, seal: RecordSeal | None = None) -> str | None:
    """What is wrong with the file, or with the seal of its run, after reading all of it, or None."""
    there = tables(database)
    if not there.issuperset({*ROUND_TABLES, "meta"} - {"digests"}):
        return "tables are missing"
    verdict = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        return verdict.replace("\n", " ")
    if "digests" not in there:  # opened to be read, and written before there were digests
        return None if seal is None else "it belongs to another run"
    database.execute("BEGIN")  # one moment, while somebody else may be writing
    try:
        return find_broken_round(database) or (None if seal is None else seal.complaint(database, there))
    finally:
        database.execute("COMMIT")


@contextmanager
def reporting(path: str | Path) -> Iterator[None]:
    """Turn SQLite's complaints about the file at `path` into one sentence for a person."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # a mistake in our own code, or a use after closing: a person cannot correct it
    except sqlite3.DatabaseError as error:
        raise _sentence(path, error) from error
    except UnicodeDecodeError as error:  # SQLite quotes a damaged file in its complaint
        raise RunError(f"record {path} is damaged ({error.reason}).") from error


def _sentence(path: str | Path, error: sqlite3.DatabaseError) -> RunError:
    words = str(error)
    if "full" in words:
        return RunError(f"disk full while writing {path}: free some space and resume the run.")
    if "malformed" in words or "not a database" in words:
        return RunError(f"record {path} is damaged ({words}).")
    return RunError(f"cannot use record {path} ({words}).")


def _connect_to_read(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise RunError(f"there is no record {path}.")
    database = _open(f"{path.resolve().as_uri()}?mode=ro")
    try:
        tables(database)
    except sqlite3.OperationalError:
        # Write-ahead mode needs a side file even to read; on a read-only disk ask SQLite to go without.
        database.close()
        database = _open(f"{path.resolve().as_uri()}?mode=ro&immutable=1")
    return database


def _open(name: str) -> sqlite3.Connection:
    return sqlite3.connect(name, timeout=30, isolation_level=None, uri=name.startswith("file:"))
