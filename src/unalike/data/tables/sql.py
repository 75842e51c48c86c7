"""Which rows does a query ask for?  (SQL over CSV and Parquet files and DuckDB databases.)

A query may come in a file from somebody else, so only a single SELECT is taken, in a database in memory or
one that is opened for reading, without extensions and with a configuration that a query cannot change.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from ...core.extras import import_extra
from ...errors import DataError

_SAFE = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "lock_configuration": True,
}


def read_sql(words: str) -> dict[str, Any]:
    """The columns that a query gives: `SELECT ...`, or `FILE.duckdb:SELECT ...`."""
    library = import_extra("duckdb", "sql", "reading rows by SQL", DataError)
    database, query = _database(words)
    _check_query(library, query)
    try:
        with library.connect(database or ":memory:", read_only=database is not None, config=_SAFE) as opened:
            found = opened.execute(query).fetchnumpy()
    except library.Error as error:
        raise DataError(f"the query cannot be answered: {str(error).strip().splitlines()[0]}") from None
    return {name: plain_column(column) for name, column in found.items()}


def _database(words: str) -> tuple[str | None, str]:
    """The database file before the query, if there is one.

    >>> _database("SELECT 'a:b'")
    (None, "SELECT 'a:b'")
    """
    found = re.match(r"(?P<file>[^:'\"]+\.(duckdb|db)):(?P<query>.*)", words, re.DOTALL | re.IGNORECASE)
    if found is None:
        return None, words.strip()
    if not Path(found["file"]).is_file():
        raise DataError(f"there is no database {found['file']!r}.")
    return found["file"], found["query"].strip()


def _check_query(library: Any, query: str) -> None:
    try:
        statements = library.extract_statements(query)
    except library.Error as error:
        raise DataError(f"this is not a query: {str(error).strip().splitlines()[0]}") from None
    if len(statements) != 1 or statements[0].type != library.StatementType.SELECT:
        raise DataError("rows are asked for by one SELECT; nothing else is run.")


def plain_column(column: Any) -> Any:
    """A column that DuckDB gives, as an array of values in which a gap is None."""
    masked = getattr(column, "mask", None)
    if masked is None:
        return column
    if column.dtype.kind == "f":
        return column.filled(float("nan"))
    values = np.array(column.data, dtype=object)
    values[masked] = None
    return values if np.any(masked) else column.data
