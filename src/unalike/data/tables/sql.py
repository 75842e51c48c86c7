"""SQL queries over CSV and Parquet files and DuckDB databases.

Only a single SELECT is run, in a database in memory or one that is opened for reading. It reads the tables
whose files it names in quotes and nothing else: no other file, no pattern of files, no network, no extension,
no setting. Memory and time are bounded. A query in a file from somebody else is not even asked (see
`experiments/outside_paths.py`).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ...core.extras import import_extra
from ...core.plain_files import free_memory
from ...errors import DataError
from ...typing import NamedColumns

_SAFE = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "temp_directory": "",
}
SECONDS = 300.0
"""How long a query may take."""
FILES = (".csv", ".csv.gz", ".tsv", ".parquet", ".json", ".jsonl")
"""How the files of tables end."""


def read_sql(words: str) -> NamedColumns:
    """The columns that a query gives: `SELECT ...`, or `FILE.duckdb:SELECT ...`."""
    library = import_extra("duckdb", "sql", "reading rows by SQL", DataError)
    database, query = _database(words)
    _check_query(library, query)
    try:
        with _connect(library, database, query) as opened:
            found = opened.execute(query).fetchnumpy()
    except library.InterruptException:
        raise DataError(f"the query takes more than {SECONDS:g} seconds; ask for less.") from None
    except library.PermissionException as error:
        raise DataError(
            "a query reads only tables whose files it names in quotes, one by one "
            f"({', '.join(FILES)}): {str(error).strip().splitlines()[0]}"
        ) from None
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


def find_table_files(query: str) -> list[str]:
    """The files of tables that a query names in quotes.

    >>> find_table_files("SELECT 'x.csv', * FROM '*.csv' JOIN read_text('/etc/passwd')")
    []
    """
    quoted = [found[1:-1].replace(found[0] * 2, found[0]) for found in re.findall(_QUOTED, query)]
    tables = [text for text in quoted if text.lower().endswith(FILES) and not set(text) & set("*?[{")]
    return [str(path) for text in tables if (path := Path(text)).is_file()]


_QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*\""""


@contextmanager
def _connect(library: ModuleType, database: str | None, query: str) -> Iterator[Any]:
    """A connection that reaches the tables of one query only, and is interrupted when its time is over."""
    bounded = {**_SAFE, "memory_limit": f"{max(free_memory() // 2, 1 << 28)}B"}
    with library.connect(database or ":memory:", read_only=database is not None, config=bounded) as opened:
        paths = ", ".join("'" + path.replace("'", "''") + "'" for path in find_table_files(query))
        opened.execute(f"SET allowed_paths = [{paths}]")
        opened.execute("SET enable_external_access = false")
        opened.execute("SET lock_configuration = true")
        alarm = threading.Timer(SECONDS, opened.interrupt)
        alarm.daemon = True
        alarm.start()
        try:
            yield opened
        finally:
            alarm.cancel()


def _check_query(library: ModuleType, query: str) -> None:
    try:
        statements = library.extract_statements(query)
    except library.Error as error:
        raise DataError(f"this is not a query: {str(error).strip().splitlines()[0]}") from None
    if len(statements) != 1 or statements[0].type != library.StatementType.SELECT:
        raise DataError("rows are asked for by one SELECT; nothing else is run.")


def plain_column(column: Any) -> Any:
    """A column that DuckDB gives, as an array of values in which a missing value is None."""
    masked = getattr(column, "mask", None)
    if masked is None:
        return column
    if column.dtype.kind == "f":
        return column.filled(float("nan"))
    values = np.array(column.data, dtype=object)
    values[masked] = None
    return values if np.any(masked) else column.data
