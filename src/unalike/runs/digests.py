"""Record integrity: a digest per round.

Every round has a digest of all that is written of it (BLAKE2b, 16 bytes), kept beside it in the same
transaction. SQLite finds a torn page, but not a flipped bit inside a number; the digest does.
"""

from __future__ import annotations

import hashlib
import sqlite3

ABOUT_THE_RUN = -1
"""In place of a round, for the words about the whole run."""
CONTENTS = (
    "SELECT name, value FROM metrics WHERE round = ? ORDER BY name",
    "SELECT name, position, client, value FROM client_metrics WHERE round = ? ORDER BY name, position",
    "SELECT kind, client, detail FROM events WHERE round = ? ORDER BY rowid",
    "SELECT name, kind, numbers FROM groups WHERE round = ? ORDER BY name",
    "SELECT seconds FROM timings WHERE round = ?",
)
WORDS = "SELECT key, value FROM meta ORDER BY key"


def digest_of(database: sqlite3.Connection, round: int) -> bytes:
    """The digest of a round as it is now."""
    found = hashlib.blake2b(digest_size=16)
    asked = [(WORDS, ())] if round == ABOUT_THE_RUN else [(query, (round,)) for query in CONTENTS]
    for query, values in asked:
        found.update(repr(database.execute(query, values).fetchall()).encode())
    return found.digest()


def seal(database: sqlite3.Connection, round: int) -> bytes | None:
    """Keep the digest of a round that has just been written, inside the same transaction; the one before, if
    there was one."""
    before = database.execute("SELECT digest FROM digests WHERE round = ?", (round,)).fetchone()
    database.execute("INSERT OR REPLACE INTO digests VALUES (?, ?)", (round, digest_of(database, round)))
    return None if before is None else before[0]


def seal_all(database: sqlite3.Connection) -> None:
    """Keep the digests of a record that was written without them."""
    for round in [*_rounds(database), ABOUT_THE_RUN]:
        seal(database, round)


def find_broken_round(database: sqlite3.Connection) -> str | None:
    """Which round is not as it was written, if there is one."""
    kept = dict(database.execute("SELECT round, digest FROM digests"))
    written = [*_rounds(database), ABOUT_THE_RUN]
    if set(written) != set(kept):
        strange = min(set(written) ^ set(kept))
        return f"round {strange} does not belong to it, or is not whole"
    for round in written:
        if digest_of(database, round) != kept[round]:
            what = "what it says of the run" if round == ABOUT_THE_RUN else f"round {round}"
            return f"{what} is not as it was written"
    return None


def _rounds(database: sqlite3.Connection) -> list[int]:
    return [round for (round,) in database.execute("SELECT round FROM rounds ORDER BY round")]
