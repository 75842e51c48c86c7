"""Authentication code over the rounds of a record: was it written by the owner of the run?

Every round has a digest (see :mod:`.digests`). A keyed hash of those of all rounds up to one, with the name
of the run, is kept in the same file and transaction, so that no crash separates it from what it is about. It
is written before checkpoints and at the end; a round that is written in between costs nothing, and is dropped
when the run resumes.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from pathlib import Path

from ..core.run_files import SEAL
from .digests import ABOUT_THE_RUN
from .seal import read_seal
from .seal_key import user_key

_BITS = 256
_NOTHING = ABOUT_THE_RUN - 1
"""The last round of a seal that covers none."""


class RecordSeal:
    """The seal of one run's record."""

    def __init__(self, run: str, is_own: bool) -> None:
        self.run, self.is_own = run, is_own
        self.is_behind = False
        """Whether rounds were written that are not covered."""
        self._key = user_key() if is_own else b""
        self._sum: int | None = None
        self._last = _NOTHING

    @classmethod
    def of(cls, path: str | Path) -> RecordSeal | None:
        """The seal of the record of a sealed folder; None for any other record."""
        folder = Path(path).parent
        if str(path) == ":memory:" or not (folder / SEAL).is_file():
            return None
        found = read_seal(folder)
        return cls(found.run, found.is_own)

    def prepare(self, database: sqlite3.Connection) -> None:
        """Make the place for the seal."""
        database.execute(
            "CREATE TABLE IF NOT EXISTS seal "
            "(one INTEGER PRIMARY KEY CHECK (one = 1), run TEXT, last INTEGER, code BLOB)"
        )

    def replace(self, database: sqlite3.Connection, round: int, before: bytes | None) -> None:
        """After a round's digest was written, inside the same transaction: what is covered stays true."""
        total = self._load(database, round, before)
        if round > self._last:
            self.is_behind = True
            return
        removed = 0 if before is None else self._term(round, before)
        self._sum = total - removed + self._terms(database, "round = ?", round)
        self.write(database)

    def write(self, database: sqlite3.Connection) -> None:
        """Cover all rounds, inside a transaction."""
        total = self._load(database)
        (newest,) = database.execute("SELECT max(round) FROM digests").fetchone()
        self._sum = (total + self._terms(database, "round > ?", self._last)) % (1 << _BITS)
        self._last = _NOTHING if newest is None else int(newest)
        self.is_behind = False
        row = (self.run, self._last, self._code())
        database.execute("INSERT OR REPLACE INTO seal VALUES (1, ?, ?, ?)", row)

    def reset(self) -> None:
        """Rounds were deleted: begin again."""
        self._sum, self._last = 0, _NOTHING

    def forget(self) -> None:
        """A transaction was undone: look again at what is covered."""
        self._sum = None

    def complaint(self, database: sqlite3.Connection, tables: set[str]) -> str | None:
        """What is wrong with the seal, if something is."""
        found = database.execute("SELECT run, last, code FROM seal").fetchone() if "seal" in tables else None
        if found is None or found[0] != self.run:
            return "it belongs to another run"
        self.forget()
        self._load(database)
        if self.is_own and not hmac.compare_digest(bytes(found[2]), self._code()):
            return "it was changed after it was written"
        (later,) = database.execute("SELECT count(*) FROM digests WHERE round > ?", (self._last,)).fetchone()
        ended = database.execute("SELECT value FROM meta WHERE key = 'finished'").fetchone()
        if later and ended == ("true",):
            return "rounds were added after it was finished"
        return None

    def _load(
        self, database: sqlite3.Connection, replaced: int | None = None, before: bytes | None = None
    ) -> int:
        """The sum over the rounds that are covered, as it was before a round's digest was replaced."""
        if self._sum is None:
            found = database.execute("SELECT last FROM seal").fetchone()
            self._last = _NOTHING if found is None else int(found[0])
            self._sum = self._terms(database, "round <= ?", self._last)
            if replaced is not None and replaced <= self._last:
                self._sum -= self._terms(database, "round = ?", replaced)
                self._sum += 0 if before is None else self._term(replaced, before)
        return self._sum

    def _terms(self, database: sqlite3.Connection, which: str, round: int) -> int:
        rows = database.execute(f"SELECT round, digest FROM digests WHERE {which}", (round,))
        return sum(self._term(number, digest) for number, digest in rows)

    def _code(self) -> bytes:
        assert self._sum is not None
        content = self._last.to_bytes(8, "big", signed=True) + (self._sum % (1 << _BITS)).to_bytes(32, "big")
        return self._hash(b"sum", content)

    def _term(self, round: int, digest: bytes) -> int:
        return int.from_bytes(self._hash(b"round", round.to_bytes(8, "big", signed=True) + digest), "big")

    def _hash(self, kind: bytes, content: bytes) -> bytes:
        text = b"unalike record " + kind + b" " + self.run.encode() + b" " + content
        return hmac.digest(self._key, text, hashlib.sha256)
