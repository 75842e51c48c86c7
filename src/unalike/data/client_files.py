"""What does one client's file hold?

One `.npz`, `.csv` or `.parquet` file per client. Nothing here ever unpickles: a file from somebody else
cannot run code on this machine.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .validation import check_names

Array = NDArray[Any]
Pair = tuple[Array, Array]
SUFFIXES = (".npz", ".csv", ".parquet")
_LABEL_NAMES = ("label", "y", "target")


def client_paths(folder: Path) -> list[Path]:
    """The client files in a folder, by name; other files are left alone."""
    return sorted(path for path in folder.glob("*") if path.suffix in SUFFIXES)


def read_folder(folder: Path, label: str | None = None) -> dict[str, Pair]:
    """Features and targets of every client file in the folder."""
    if not folder.is_dir():
        raise DataError(f"there is no folder {str(folder)!r}; give a folder with one file per client.")
    paths = client_paths(folder)
    if not paths:
        raise DataError(
            f"folder {str(folder)!r} holds no clients; put one {', '.join(SUFFIXES)} file per client in it."
        )
    check_names(path.stem for path in paths)
    return _same_kind({path.stem: read_client(path, label) for path in paths})


def read_client(path: Path, label: str | None = None) -> Pair:
    """Features and targets of one client's file."""
    try:
        if path.suffix == ".npz":
            return _read_npz(path, label)
        header, columns = _read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(f"client {path.stem!r}: {path.name} cannot be read ({error}).") from None
    return _pair(path, header, columns, label)


def _read_npz(path: Path, label: str | None) -> Pair:
    with np.load(path, allow_pickle=False) as file:
        target = label if label in file.files else "y"
        if "x" not in file.files or target not in file.files:
            raise DataError(
                f"client {path.stem!r}: {path.name} has no arrays x and {target}; it has {file.files}."
            )
        return file["x"], file[target]


def _read_csv(path: Path) -> tuple[list[str], list[Array]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if row]
    if len(rows) < 2:
        raise DataError(f"client {path.stem!r}: {path.name} needs a header and at least one row.")
    if any(len(row) != len(rows[0]) for row in rows):
        raise DataError(f"client {path.stem!r}: {path.name} has rows with different numbers of columns.")
    table = np.array(rows[1:])
    return [name.strip() for name in rows[0]], list(table.T)


def _read_parquet(path: Path) -> tuple[list[str], list[Array]]:
    try:
        from pyarrow import parquet
    except ImportError:
        raise DataError(
            "reading .parquet files needs pyarrow; install it with pip install 'unalike[parquet]'."
        ) from None
    table = parquet.read_table(path)
    return list(table.column_names), [_from_arrow(column) for column in table.columns]


def _from_arrow(column: Any) -> Array:
    values = column.to_numpy()
    return values.astype(str) if values.dtype == object else values


def _pair(path: Path, header: Sequence[str], columns: Sequence[Array], label: str | None) -> Pair:
    target = _target_column(path, header, label)
    features = [i for i in range(len(header)) if i != target]
    if not features:
        raise DataError(f"client {path.stem!r}: {path.name} has a target but no feature columns.")
    x = np.stack([_numbers(path, header[i], columns[i]) for i in features], axis=1)
    return x, _targets(columns[target])


def _target_column(path: Path, header: Sequence[str], label: str | None) -> int:
    if label is not None and label not in header:
        raise DataError(
            f"client {path.stem!r}: {path.name} has no column {label!r}; it has {', '.join(header)}."
        )
    wanted = _LABEL_NAMES if label is None else (label,)
    return next((header.index(name) for name in wanted if name in header), len(header) - 1)


def _numbers(path: Path, name: str, values: Array) -> Array:
    if values.dtype.kind == "U":
        values = np.where(np.char.strip(values) == "", "nan", values)
    try:
        return values.astype(np.float64)
    except ValueError:
        raise DataError(
            f"client {path.stem!r}: column {name!r} of {path.name} is not made of numbers."
        ) from None


def _targets(values: Array) -> Array:
    """Whole numbers where the text is whole numbers, floats where it is numbers, words otherwise."""
    for kind in (np.int64, np.float64) if values.dtype.kind == "U" else ():
        try:
            return values.astype(kind)
        except ValueError:
            continue
    return values


def _same_kind(clients: dict[str, Pair]) -> dict[str, Pair]:
    """A regression's client may happen to hold whole targets only: floats anywhere mean floats everywhere."""
    kinds = {y.dtype.kind for _, y in clients.values()}
    if "f" not in kinds or not kinds <= set("iuf"):
        return clients
    return {name: (x, y.astype(np.float64)) for name, (x, y) in clients.items()}
