"""A folder of client files, one per client.

A client is an `.npz`, `.csv` or `.parquet` file, in the folder itself or, where it holds none, in one of its
sub-folders, which are then groups of clients. Tables are matched by the names of their columns, so that their
order does not matter. The target is the column that the user names, or the one called label, y or target, or
the last one of the first table; which it was is said. Nothing here ever unpickles: a file from somebody else
cannot run code on this machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...errors import DataError
from ...typing import Array
from ..validation import check_names
from .agreement import StringLabels, agree_columns, order_columns, same_kind, spell
from .array_files import npz_names, read_npz
from .csv_tables import csv_header, read_csv
from .parquet_tables import parquet_header, read_parquet
from .text_columns import reading

SUFFIXES = (".npz", ".csv", ".parquet")
LABEL_NAMES = ("label", "y", "target")
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
"""What some programs put between columns in place of commas."""
OTHER_DATA = frozenset(
    (".arff", ".arrow", ".dat", ".data", ".dta", ".feather", ".gz", ".h5", ".hdf5", ".json", ".jsonl", ".npy")
) | {".ods", ".parq", ".pickle", ".pkl", ".pq", ".rds", ".sav", ".tab", ".tsv", ".txt", ".xls", ".xlsx"}
"""Files that somebody may take for clients although they are not read."""


Features = Mapping[str, Array]
"""The columns of a table by name: numbers, in which a gap is NaN, or words, in which a gap is empty."""


class Rows(NamedTuple):
    """One client's features, an array or named columns, and its target."""

    x: Array | Features
    y: Array | StringLabels
    columns: tuple[str, ...] | None
    """The names of the features, where they have any."""

    def named(self) -> Features:
        """The features as named columns."""
        if not isinstance(self.x, np.ndarray):
            return self.x
        return dict(zip(self.columns or (), np.asarray(self.x, np.float64).T, strict=True))

    def numbers(self, client: str) -> Array:
        """The features as one array; a `DataError` where some are words."""
        return self.x if isinstance(self.x, np.ndarray) else stack_numbers(client, self.x)


class Folder(NamedTuple):
    """All clients, with the names that they agree on, and in words how they were read."""

    clients: dict[str, Rows]
    columns: tuple[str, ...] | None
    target: str | None
    said: str
    groups: tuple[str, ...] | None = None
    """The sub-folder of every client, where there are sub-folders."""


def client_paths(folder: Path) -> list[Path]:
    """The client files in a folder, by name, whatever the capitals of their suffix."""
    return sorted(path for path in folder.glob("*") if path.suffix.lower() in SUFFIXES)


def unread_paths(folder: Path) -> list[Path]:
    """Other files in the folder that look like data."""
    others = (path for path in folder.glob("[!.]*") if path.suffix.lower() in OTHER_DATA)
    return sorted(path for path in others if not path.stem.lower().startswith(("readme", "licen")))


def read_folder(folder: Path, label: str | None = None) -> Folder:
    """Features and targets of every client file in the folder."""
    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}; give a folder with one file per client.")
    flat = client_paths(folder)
    paths = flat or [path for part in sorted(folder.glob("[!.]*/")) for path in client_paths(part)]
    if not paths:
        raise DataError(
            f"folder {str(folder)!r} holds no clients; put one {', '.join(SUFFIXES)} file per client in it."
        )
    check_names(path.stem for path in paths)
    headers = {path: read_header(path) for path in paths if not _is_npz(path)}
    target = choose_target(headers, label)
    rows = {path.stem: read_client(path, headers.get(path), target or label) for path in paths}
    columns = agree_columns({name: mine.columns for name, mine in rows.items()})
    targets = same_kind({name: mine.y for name, mine in rows.items()})
    clients = {name: _order_columns(mine, columns)._replace(y=targets[name]) for name, mine in rows.items()}
    said = [*_say_target(target, label, clients), *_say_unread(unread_paths(folder))]
    groups = None if flat else tuple(path.parent.name for path in paths)
    return Folder(clients, columns, target, "; ".join(said), groups)


def choose_target(headers: Mapping[Path, Sequence[str]], label: str | None) -> str | None:
    """The column that all tables have and that is predicted; None where there are no tables."""
    if not headers:
        return None
    first = next(iter(headers.values()))
    wanted = spell(label) if label is not None else likely_target(first)
    for path, header in headers.items():
        if header and wanted not in header:
            raise DataError(
                f"client {path.stem!r}: {path.name} has no column {wanted!r}; it has {_list_names(header)}."
            )
    return wanted


def read_header(path: Path) -> list[str]:
    """The names of all columns of a table."""
    with reading(path):
        names = parquet_header(path) if _is_parquet(path) else csv_header(path)
    header = [spell(name) for name in names]
    if not header:
        raise DataError(f"client {path.stem!r}: {path.name} needs a header and at least one row.")
    separated = next((name for mark, name in SEPARATORS.items() if mark in header[0]), None)
    if len(header) == 1 and separated is not None and not _is_parquet(path):
        raise DataError(
            f"client {path.stem!r}: the columns of {path.name} are separated by {separated}; save it with "
            "commas between columns and points in numbers (CSV as in English)."
        )
    if "" in header:
        raise DataError(
            f"client {path.stem!r}: column {header.index('') + 1} of {path.name} has no name; give it one, "
            "or leave it out if it only counts the rows."
        )
    agree_columns({path.stem: header})
    return header


def read_client(path: Path, header: Sequence[str] | None, target: str | None) -> Rows:
    """One client's file; `header` are the columns of a table, and `target` the one that is predicted."""
    if header is None or target is None:
        return _read_npz(path, target)
    if len(header) < 2:
        raise DataError(f"client {path.stem!r}: {path.name} has a target but no feature columns.")
    with reading(path):
        x, y = (read_parquet if _is_parquet(path) else read_csv)(path, header, header.index(target))
    return Rows(x, y, tuple(name for name in header if name != target))


def _read_npz(path: Path, label: str | None) -> Rows:
    """Arrays x and y (or the label), and perhaps `columns`, the names of the features."""
    target = "y" if label is None else label
    with reading(path):
        arrays = read_npz(path, ("x", target, "columns"))
        if "x" not in arrays or target not in arrays:
            has = _list_names(npz_names(path)) or "none"
            raise DataError(f"client {path.stem!r}: {path.name} has no arrays x and {target}; it has {has}.")
    x, names = arrays["x"], arrays.get("columns")
    if names is None:
        return Rows(x, arrays[target], None)
    columns = tuple(str(name) for name in names.ravel().tolist())
    if x.ndim != 2 or len(columns) != x.shape[1]:
        raise DataError(
            f"client {path.stem!r}: {path.name} has {len(columns)} names of columns but features of shape "
            f"{x.shape}; give one name per column."
        )
    return Rows(x, arrays[target], columns)


def _is_npz(path: Path) -> bool:
    return path.suffix.lower() == ".npz"


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def likely_target(header: Sequence[str]) -> str:
    """The column that is called like a label, in whatever capitals, or the last one."""
    lower = [name.casefold() for name in header]
    return next((header[lower.index(name)] for name in LABEL_NAMES if name in lower), header[-1])


def stack_numbers(client: str, columns: Features) -> Array:
    """Named columns as one array; a `DataError` where some are words."""
    for name, column in columns.items():
        if column.dtype != np.float64:
            raise DataError(
                f"client {client!r}: column {name!r} is not made of numbers, and without preparation only "
                "numbers are taken."
            )
    return np.stack(list(columns.values()), axis=1)


def _order_columns(rows: Rows, wanted: tuple[str, ...] | None) -> Rows:
    if rows.columns is None or wanted is None:
        return rows
    if isinstance(rows.x, np.ndarray):
        return rows._replace(x=order_columns(rows.x, rows.columns, wanted), columns=wanted)
    mine = {spell(name): column for name, column in rows.x.items()}
    return rows._replace(x={name: mine[name] for name in wanted}, columns=wanted)


def _say_target(target: str | None, label: str | None, clients: Mapping[str, Rows]) -> list[str]:
    """What is predicted and why."""
    if target is None:
        return []
    targets = [rows.y for rows in clients.values()]
    regression = any(not isinstance(y, StringLabels) and y.dtype.kind == "f" for y in targets)
    kind = "a regression" if regression else "classes"
    if label is not None:
        return [f"target {target!r}, {kind}"]
    if target.casefold() in LABEL_NAMES:
        return [f"target {target!r} by its name, {kind}"]
    return [f"target {target!r}, the last column, {kind} (--label COLUMN chooses another)"]


def _say_unread(paths: Sequence[Path]) -> list[str]:
    return [f"not read: {_list_names([path.name for path in paths])}"] if paths else []


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(name[:40] for name in names[:10]) + more
