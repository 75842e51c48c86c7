"""Reading tables: files, data frames, federations; one per client or with a client column.

CSV and Parquet files are read as text and numbers only; nothing in them is run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DataError
from ...typing import Array, NamedColumns
from ..federation import Federation
from ..files.client_files import client_paths, read_header
from ..files.csv_tables import csv_columns
from ..files.parquet_tables import parquet_columns
from ..files.text_columns import reading
from ..library_data import can, is_index, is_missing
from ..train_test_split import PARTS
from .sql import plain_column
from .table import Table, Tables


def tables_of(data: object, client_column: str | None = None) -> Tables:
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
        return split_table(_one_table(data), client_column)
    return check_tables({str(name): _one_table(value) for name, value in tables_in(data).items()})


def tables_in(data: object) -> NamedColumns:
    """The tables of a mapping, by client; refused where it is none."""
    if isinstance(data, Mapping) and data and all(is_table(value) for value in data.values()):
        if are_parts(data):
            raise DataError(
                f"{' and '.join(data)} are parts of a data set, not clients; say which column names the "
                "client of every row (client_column='...')."
            )
        return data
    raise DataError(
        "tables are a mapping of client names to tables, a folder with one file per client, or one table "
        "with a client column (client_column='...')."
    )


def are_parts(tables: object) -> bool:
    """Whether what looks like clients are parts of one data set, as Hugging Face has them.

    >>> are_parts({"train": {"x": [1]}, "test": {"x": [2]}}), are_parts({"train": {"x": [1]}, "basel": {}})
    (True, False)
    """
    if not isinstance(tables, Mapping) or not all(map(is_table, tables.values())):
        return False
    return "train" in tables and len(tables) > 1 and set(tables) <= set(PARTS)


def read_table(path: str | Path) -> Table:
    """One CSV or Parquet file as a table."""
    table = Table.of(read_columns(Path(path)))
    if not len(table):
        raise DataError(f"{Path(path).name} has no rows below its header.")
    return table


def read_columns(path: Path) -> NamedColumns:
    """The columns of a CSV or Parquet file by name, text or numbers as they are there."""
    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}.")
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise DataError(f"{path.name} is not a .csv or .parquet file.")
    header = read_header(path)
    with reading(path):
        columns = (parquet_columns if path.suffix.lower() == ".parquet" else csv_columns)(path, header)
    return dict(zip(header, columns, strict=True))


def split_table(table: Table, column: str) -> Tables:
    """One table per value of a column, which is left out of them."""
    parts = split_columns(table.columns, column)
    return check_tables({name: Table(columns).with_days() for name, columns in parts.items()})


def split_columns(columns: NamedColumns, client_column: str) -> dict[str, dict[str, Array]]:
    """One set of columns per value of a column, which is left out of them.

    >>> found = split_columns({"site": ["b", "a"], "age": [50, 60]}, "site")
    >>> {name: mine["age"].tolist() for name, mine in found.items()}
    {'a': [60], 'b': [50]}
    """
    if client_column not in columns:
        raise DataError(f"there is no column {client_column!r}; the columns are {', '.join(columns)}.")
    given = np.asarray(columns[client_column]).tolist()
    owners = ["" if is_missing(owner) else _name(owner) for owner in given]
    if not owners:
        raise DataError("the table has no rows.")
    if "" in owners:
        row = owners.index("") + 1
        raise DataError(f"column {client_column!r} does not say whose row {row} is.")
    names, places = np.unique(np.array(owners), return_inverse=True)
    rest = {name: np.asarray(values) for name, values in columns.items() if name != client_column}
    rows = np.split(np.argsort(places, kind="stable"), np.cumsum(np.bincount(places))[:-1])
    return {
        str(name): {key: values[mine] for key, values in rest.items()}
        for name, mine in zip(names, rows, strict=True)
    }


def _name(owner: object) -> str:
    """What a client is called; whole numbers are spelled out, for 1e6 may be several clients."""
    return str(int(owner) if isinstance(owner, float) and owner.is_integer() else owner).strip()


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
        return split_table(read_table(path), client_column)
    if not path.is_dir():
        raise DataError(
            f"{str(path)!r} is not a folder with one .csv or .parquet file per client; for one file with "
            "all clients, say which column names them."
        )
    paths = [file for file in client_paths(path) if file.suffix.lower() != ".npz"]
    if not paths:
        raise DataError(f"folder {str(path)!r} holds no .csv or .parquet file.")
    return check_tables({file.stem: read_table(file).with_days() for file in paths})


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


def is_table(value: object) -> bool:
    """Whether it has named columns: a mapping, or a table of another library."""
    made = any(can(value, call) for call in ("to_pandas", "fetchnumpy", "collect"))
    return made or isinstance(value, Table | Mapping) or hasattr(value, "columns")


def _one_table(value: object) -> Table:
    return value if isinstance(value, Table) else Table.of(columns_of(value)).with_days()


def columns_of(value: Any) -> NamedColumns:
    """The columns of a table of another library, or of a mapping, by name."""
    if isinstance(value, Table):
        return value.columns
    if isinstance(value, Mapping):
        return value
    if can(value, "fetchnumpy"):  # a relation of DuckDB
        return {str(name): plain_column(column) for name, column in value.fetchnumpy().items()}
    frame = _frame(value)
    if not hasattr(frame, "columns"):
        raise DataError(
            f"a {type(frame).__name__} is not a table; give a data frame or a mapping of columns."
        )
    names = [str(name) for name in frame.columns]
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(f"column {name!r} comes twice; give each column a name of its own.")
    columns = {str(name): frame[name].to_numpy() for name in frame.columns if not is_index(str(name))}
    return {**columns, **_class_names(value, columns)}


def _frame(value: Any) -> Any:
    """What has columns with names, of what can be made into it: only pandas is asked for nothing else."""
    if can(value, "collect"):  # a lazy frame of Polars
        value = value.collect()
    columns = getattr(value, "columns", ())
    if not can(value, "to_pandas") or (len(columns) and all(isinstance(name, str) for name in columns)):
        return value
    try:
        return value.to_pandas()  # such as data sets of Hugging Face and tables of Arrow
    except ImportError as error:
        raise DataError(f"a {type(value).__name__} is read by pandas: {error}.") from None


def _class_names(value: object, columns: NamedColumns) -> dict[str, Array]:
    """The columns that hold numbers of classes whose names are known, as data sets of Hugging Face do."""
    kinds = getattr(value, "features", None)
    if not isinstance(kinds, Mapping):
        return {}
    known = {name: kind.names for name, kind in kinds.items() if can(kind, "int2str") and name in columns}
    return {name: _decode_classes(columns[name], names) for name, names in known.items()}


def _decode_classes(codes: Array, names: Sequence[str]) -> Array:
    """The names of classes by number; a number below 0 stands for none."""
    found = [None if is_missing(code) or code < 0 else names[int(code)] for code in codes.tolist()]
    return np.array(found, dtype=object)
