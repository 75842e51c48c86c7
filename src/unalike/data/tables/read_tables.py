"""How do people's tables come in?  (Files, data frames, federations; one per client or with a client column.)

CSV and Parquet files are read as text and numbers only; nothing in them is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DataError
from ..federation import Federation
from ..files.client_files import client_paths, read_header
from ..files.csv_tables import csv_columns
from ..files.parquet_tables import parquet_columns
from ..files.table_columns import reading
from .table import Table, Tables


def tables_of(data: Any, client_column: str | None = None) -> Tables:
    """Tables of all clients, from whatever people have.

    data: a mapping of names to tables, data frames or mappings of columns; one data frame or file with a
        `client_column`; a folder with one CSV or Parquet file per client; or a :class:`Federation`.

    >>> found = tables_of({"site": ["a", "b", "a"], "age": [1, 2, 3]}, client_column="site")
    >>> {name: table["age"].tolist() for name, table in found.items()}
    {'a': [1.0, 3.0], 'b': [2.0]}
    """
    if isinstance(data, Federation):
        return _of_federation(data)
    if isinstance(data, str | Path):
        return _of_path(Path(data), client_column)
    if client_column is not None:
        return split_by(_one_table(data), client_column)
    if isinstance(data, Mapping) and data and all(_is_table(value) for value in data.values()):
        return check_tables({str(name): _one_table(value) for name, value in data.items()})
    raise DataError(
        "tables are a mapping of client names to tables, a folder with one file per client, or one table "
        "with a client column (client_column='...')."
    )


def read_table(path: str | Path) -> Table:
    """One CSV or Parquet file as a table."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}.")
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise DataError(f"{path.name} is not a .csv or .parquet file.")
    header = read_header(path)
    with reading(path):
        columns = (parquet_columns if path.suffix.lower() == ".parquet" else csv_columns)(path, header)
    table = Table.of(dict(zip(header, columns, strict=True)))
    if not len(table):
        raise DataError(f"{path.name} has no rows below its header.")
    return table


def split_by(table: Table, column: str) -> Tables:
    """One table per value of a column, which is left out of them."""
    owners = table[column]
    if table.missing(column).any():
        raise DataError(f"column {column!r} does not say for every row whose it is.")
    words = [f"{value:g}" for value in owners] if owners.dtype == np.float64 else owners.tolist()
    names, place = np.unique(np.array(words), return_inverse=True)
    rest = table.only(name for name in table.names if name != column)
    return check_tables({str(name): rest.rows(place == i) for i, name in enumerate(names)})


def check_tables(tables: Tables) -> Tables:
    """The same tables; refused where there are none, or where one has no rows."""
    if not tables:
        raise DataError("there are no tables.")
    empty = [name for name, table in tables.items() if not len(table)]
    if empty:
        raise DataError(f"client {empty[0]!r} has a table without rows.")
    return tables


def _of_path(path: Path, client_column: str | None) -> Tables:
    if client_column is not None:
        return split_by(read_table(path), client_column)
    if not path.is_dir():
        raise DataError(
            f"{str(path)!r} is not a folder with one .csv or .parquet file per client; for one file with "
            "all clients, say which column names them."
        )
    paths = [file for file in client_paths(path) if file.suffix.lower() != ".npz"]
    if not paths:
        raise DataError(f"folder {str(path)!r} holds no .csv or .parquet file.")
    return check_tables({file.stem: read_table(file) for file in paths})


def _of_federation(federation: Federation) -> Tables:
    """The training rows, with a column for each feature and one for the target."""
    width = int(np.prod(federation.input_shape))
    names = federation.columns or tuple(f"x{j + 1}" for j in range(width))
    target, tables = federation.target or "y", Tables()
    for i in range(len(federation)):
        x, y = federation.train.client(i)
        columns = dict(zip(names, np.asarray(x, np.float64).reshape(len(x), width).T, strict=True))
        labels = federation.label_names
        said = np.array([labels[int(label)] for label in y]) if labels else np.asarray(y, np.float64)
        tables[federation.name(i)] = Table.of({**columns, target: said})
    return check_tables(tables)


def _is_table(value: Any) -> bool:
    return isinstance(value, Table | Mapping) or hasattr(value, "columns")


def _one_table(value: Any) -> Table:
    if isinstance(value, Table):
        return value
    if isinstance(value, Mapping):
        return Table.of(value)
    if hasattr(value, "to_pandas"):  # what is not pandas itself, such as Polars or Hugging Face data sets
        value = value.to_pandas()
    if hasattr(value, "columns"):
        return Table.of({str(name): value[name].to_numpy() for name in value.columns})
    raise DataError(f"a {type(value).__name__} is not a table; give a data frame or a mapping of columns.")
