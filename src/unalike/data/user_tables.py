"""Your own tables as federations: folders, files, data frames and data sets.

Objects of other libraries are known by what they can do (`to_pandas`, `load_partition`), so that none of
these libraries is needed here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.catalog import SQL, TABLES
from ..errors import ConfigError, DataError, UnalikeError
from ..typing import Array, Fields, NamedColumns
from .federation import Federation
from .files.agreement import StringLabels, same_kind, spell
from .files.client_files import Rows, likely_target, read_folder
from .files.text_columns import in_short, targets_of
from .library_data import is_boolean, is_missing, is_nested
from .table_clients import PART, ClientTable, federation_of, how_to_prepare
from .tables.read_tables import are_parts, columns_of, is_table, read_columns, split_columns, tables_in
from .tables.sql import read_sql
from .tables.table import Table
from .train_test_split import PARTS

Columns = NamedColumns
"""The values of every column, by its name."""


def federation_of_folder(
    folder: Path, label: str | None = None, how: Fields | None = None, **cut: Any
) -> Federation:
    """The federation of a folder with one file per client; see :meth:`Federation.from_folder`."""
    read = read_folder(folder, label)
    prepared = how_to_prepare(how or {})
    if any(not isinstance(rows.x, np.ndarray) for rows in read.clients.values()):
        clients = {name: ClientTable(Table(rows.named()), rows.y) for name, rows in read.clients.items()}
        made = federation_of(clients, prepared, **cut)
    else:
        _check_arrays(folder, prepared.drop)
        made = replace(Federation.from_clients(_pairs(read.clients), **cut), columns=read.columns)
    said = "; ".join(part for part in (read.said, made.description) if part)
    return replace(made, target=read.target, description=said, groups=read.groups)


def federation_of_tables(
    data: object,
    label: str | None = None,
    client_column: str | None = None,
    how: Fields | None = None,
    **cut: Any,
) -> Federation:
    """The federation of tables that people bring; see :meth:`Federation.from_tables`."""
    owner = None if client_column is None else str(client_column)
    prepared, tables = how_to_prepare(how or {}), _by_client(data, owner)
    first = [spell(name) for name in next(iter(tables.values()))]
    target = likely_target(first) if label is None else spell(str(label))
    clients = {name: _client(name, columns, target, prepared.drop) for name, columns in tables.items()}
    targets = same_kind({name: client.y for name, client in clients.items()})
    alike = {name: client._replace(y=targets[name]) for name, client in clients.items()}
    made = federation_of(alike, prepared, **cut)
    chosen = "" if label is not None else f"target {target!r} (label=COLUMN chooses another); "
    return replace(made, target=target, description=f"{chosen}{made.description}".rstrip("; "))


def table_of(name: object) -> object | None:
    """The one table that a name stands for, or None where it is the name of something else."""
    if not isinstance(name, str | os.PathLike):
        return name if hasattr(name, "load_partition") or is_table(name) else None
    words = os.fspath(name)
    if words.startswith(SQL):
        return read_sql(words.removeprefix(SQL))
    is_file = Path(words).suffix.lower() in TABLES and not Path(words).is_dir()
    return read_columns(Path(words)) if is_file else None


def names_clients(table: object, client_column: str | None) -> bool:
    """Whether it is known whose the rows of a table are."""
    several = isinstance(table, Mapping) and all(is_table(mine) for mine in table.values())
    return client_column is not None or several or hasattr(table, "load_partition")


def _by_client(data: Any, client_column: str | None) -> Mapping[str, Columns]:
    """Every client's columns."""
    if hasattr(data, "load_partition"):
        return _partitions(data, client_column)
    if isinstance(data, str | Path) and client_column is None:
        raise ConfigError(f"{str(data)!r} has the rows of all clients; say which column names them.")
    one = read_columns(Path(data)) if isinstance(data, str | Path) else data
    if client_column is None:
        return {str(name): columns_of(table) for name, table in tables_in(one).items()}
    return split_columns(_join_parts(one) if are_parts(one) else columns_of(one), client_column)


def _join_parts(tables: NamedColumns) -> Columns:
    """The parts of a data set as one table, whose first column says of which part a row is."""
    read = {part: columns_of(table) for part, table in tables.items()}
    names = list(read["train"])
    for part, columns in read.items():
        if set(columns) != set(names):
            raise DataError(
                f"{part} has other columns ({', '.join(columns)}) than train ({', '.join(names)})."
            )
    sizes = [len(columns[names[0]]) for columns in read.values()]
    owners = np.repeat([PARTS.index(part) for part in read], sizes)
    return {PART: owners, **{name: np.concatenate([mine[name] for mine in read.values()]) for name in names}}


def _partitions(data: Any, client_column: str | None) -> dict[str, Columns]:
    """The columns of what Flower's partitioners have dealt, under the names that rows had, if they had."""
    kind = type(data).__name__
    if client_column is not None:
        raise ConfigError(
            f"a {kind} deals the rows itself; leave out client_column (drop={client_column!r} leaves the "
            "column out of the features)."
        )
    if not any(hasattr(where, "num_partitions") for where in (type(data), data)):
        raise DataError(
            f"a {kind} does not say how many partitions it has; give its partitioner, "
            "data.partitioners['train'], after data.load_partition(0)."
        )
    try:
        parts = [columns_of(data.load_partition(i)) for i in range(int(data.num_partitions))]
    except UnalikeError:
        raise
    except Exception as error:  # of another library, which has errors of its own
        raise DataError(f"the {kind} cannot load its partitions: {in_short(error)}.") from None
    names = getattr(data, "partition_id_to_natural_id", None) or {}
    return {str(names.get(i, i)): part for i, part in enumerate(parts)}


def target_values(client: str, values: object) -> Array | StringLabels:
    """Whole numbers and words are classes, other numbers the targets of a regression.

    >>> target_values("a", [1, 0, 1]), target_values("a", np.array([0.5, 1.0]))
    (array([1, 0, 1]), array([0.5, 1. ]))
    """
    given = np.asarray(values)
    if given.ndim != 1 or any(map(is_nested, given.tolist())):
        raise DataError(f"client {client!r} has lists or records as labels; give one value for each row.")
    missing = np.array([is_missing(value) or value == "" for value in given.tolist()])
    if missing.any():
        row = int(np.argmax(missing)) + 1
        raise DataError(f"client {client!r} has an empty label in row {row}; fill it in or drop the row.")
    if given.dtype.kind in "iuf":
        return given
    if given.dtype.kind == "b" or is_boolean(given.tolist()):
        return given.astype(np.int64)
    return targets_of(client, [str(value).strip() for value in given.tolist()])


def _client(name: str, columns: Columns, target: str, drop: Sequence[str]) -> ClientTable:
    """The features and the target of a client; what is dropped later is not looked at."""
    spelled = {spell(str(column)): values for column, values in columns.items()}
    if target not in spelled:
        raise DataError(f"client {name!r} has no column {target!r}; it has {', '.join(spelled)}.")
    features = {column: values for column, values in spelled.items() if column != target}
    if not features:
        raise DataError(f"client {name!r} has a target but no feature columns.")
    seen = {c: np.zeros(len(values)) if c in drop else values for c, values in features.items()}
    return ClientTable(Table.of(seen), target_values(name, spelled[target]))


def _pairs(clients: Mapping[str, Rows]) -> dict[str, object]:
    return {name: (rows.x, rows.y) for name, rows in clients.items()}


def _check_arrays(folder: Path, drop: tuple[str, ...]) -> None:
    if drop:
        raise ConfigError(f"{str(folder)!r} holds arrays, not tables; there is no column to drop.")
