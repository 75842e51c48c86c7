"""Label and column agreement of newly arrived rows with a node's other rows.

A node has told the server what its columns and labels are called before the file was there, so that a file
has the same columns, in whatever order, and no other labels. Files are read as client files are: nothing is
ever unpickled.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ...data import Federation, Split
from ...data.files.agreement import agree_columns, agree_labels, spell, translate
from ...data.files.client_files import choose_target, read_client, read_header
from ...errors import DataError
from ...typing import Array


def read_arrival(
    path: Path, label: str | None, test_fraction: float = 0.0, validation_fraction: float = 0.0, seed: int = 0
) -> Federation:
    """A file's rows as one client, with the names that the file has; `DataError` where it is damaged."""
    header = None if path.suffix.lower() == ".npz" else read_header(path)
    target = None if header is None else choose_target({path: header}, label)
    rows = read_client(path, header, target or label)
    made = Federation.from_clients(
        {path.stem: (rows.numbers(path.stem), rows.y)},
        test_fraction=test_fraction,
        validation_fraction=validation_fraction,
        seed=seed,
    )
    return replace(made, columns=rows.columns, target=target)


def as_introduced(arrived: Federation, mine: Federation) -> tuple[Array, Array]:
    """The features and targets of a file as the node introduced itself; `DataError` where they do not fit."""
    names = {"this node": mine, "the file": arrived}
    agree_columns({name: one.columns for name, one in names.items()})
    agree_labels({name: one.label_names for name, one in names.items()})
    known = set(map(spell, mine.label_names or ()))
    strange = sorted(set(map(spell, arrived.label_names or ())) - known)
    if strange:
        raise DataError(f"it has the label {strange[0][:40]!r}, which this node did not introduce.")
    named = translate(arrived, mine.label_names, mine.columns).train
    return _features(named, mine.train), _targets(named, arrived.classes, mine)


def _features(rows: Split, mine: Split) -> Array:
    if rows.x.shape[1:] != mine.x.shape[1:]:
        raise DataError(f"its rows have the shape {rows.x.shape[1:]}, not {mine.x.shape[1:]}.")
    if rows.x.dtype != mine.x.dtype and (rows.x.dtype.kind, mine.x.dtype.kind) != ("i", "f"):
        raise DataError(f"its rows are of type {rows.x.dtype}, not {mine.x.dtype}.")
    return rows.x.astype(mine.x.dtype, copy=False)


def _targets(rows: Split, classes: int | None, mine: Federation) -> Array:
    if rows.y.shape[1:] != mine.train.y.shape[1:]:
        raise DataError(f"its targets have the shape {rows.y.shape[1:]}, not {mine.train.y.shape[1:]}.")
    if mine.classes is not None and mine.label_names is None:
        if classes is None:
            raise DataError("its targets are fractions, but this node introduced classes.")
        if len(rows.y) and int(np.max(rows.y)) >= mine.classes:
            raise DataError(f"it has the label {int(np.max(rows.y))}, but there are {mine.classes} classes.")
    return rows.y.astype(mine.train.y.dtype, copy=False)
