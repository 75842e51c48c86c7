"""Reading new rows as training rows were read: features and labels for a trained model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import DataError, unknown
from ..typing import Array
from .federation import Federation
from .files.agreement import StringLabels, spell
from .files.client_files import stack_numbers
from .preprocessing.read_preparation import read_preparation
from .tables.read_tables import columns_of, is_table
from .tables.table import Table
from .torch_datasets import channels_last
from .user_tables import target_values


def read_features(about: Federation, rows: object, double: bool = False) -> Array:
    """Rows as a model takes them: arrays as they are, tables prepared as those of training were.

    >>> about = Federation.from_clients({"a": (np.eye(2), [0, 1])}, test_fraction=0)
    >>> read_features(about, [[1, 2]])
    array([[1., 2.]], dtype=float32)
    """
    shape = about.input_shape
    x = _from_table(about, rows) if is_table(rows) else np.asarray(rows)
    x = x if x.shape[1:] == shape else channels_last(rows, x)
    if x.shape == shape:
        raise DataError(f"this is one row of shape {shape}; give an array of rows, such as row[None].")
    if x.shape[1:] != shape:
        raise DataError(f"rows have the shape {x.shape[1:]}, but the model takes {shape}.")
    if x.dtype.kind not in "biuf":
        raise DataError(f"rows are made of {x.dtype}, not of numbers.")
    if about.train.x.dtype == np.uint8 and len(shape) > 1:
        x = as_bytes(x)
    kept = double or (x.dtype == np.uint8 and len(shape) > 1)
    return x if kept else x.astype(np.float32)


def as_bytes(x: Array) -> Array:
    """Images for a model that was trained on bytes: whole numbers from 0 to 255 become bytes, and so do
    floats of that range, which are divided by 255; floats up to 1 are as the model sees them.

    >>> as_bytes(np.array([[[0, 51]]])), as_bytes(np.array([[[0.0, 51.0]]])), as_bytes(np.array([[[0.2]]]))
    (array([[[ 0, 51]]], dtype=uint8), array([[[0. , 0.2]]]), array([[[0.2]]]))
    """
    if x.dtype == np.uint8 or not x.size:
        return x
    low, high = float(x.min()), float(x.max())
    if low < 0 or high > 255:
        raise DataError(
            f"the model was trained on images from 0 to 255, but these go from {low:g} to {high:g}."
        )
    if x.dtype.kind in "biu":
        return x.astype(np.uint8)
    return x / 255 if high > 1 else x


def read_labels(about: Federation, values: object) -> Array:
    """Targets as they are in training: numbers of classes, whose names may be given, or values."""
    found = target_values("these rows", values)
    if about.classes is None:
        if isinstance(found, StringLabels):
            raise DataError(f"the target is a number, not a word such as {found.names[0]!r}.")
        return np.asarray(found, np.float32)
    if not isinstance(found, StringLabels):
        return np.asarray(found, np.int64)
    places = {spell(name): place for place, name in enumerate(about.label_names or ())}
    for name in found.names:
        if name not in places:
            raise unknown("class", name, places)
    return np.array([places[name] for name in found.names], np.int64)[found.codes]


def with_preparation(about: Federation, path: Path) -> Federation:
    """The same facts, with the preparation of a file; refused where that makes other features."""
    names = about.columns or ()
    made = read_preparation(path, lambda name: name in names or any(n.startswith(f"{name}=") for n in names))
    if made.names != names:
        raise DataError(
            f"{path.name} makes the features {', '.join(made.names[:5])}, ... but the model takes "
            f"{', '.join(names[:5])}, ...."
        )
    return replace(about, preparation=made)


def _from_table(about: Federation, rows: object) -> Array:
    table = rows if isinstance(rows, Table) else Table.of(columns_of(rows))
    if about.preparation is not None:
        return about.preparation.apply(table)
    if about.columns is None:
        raise DataError("the model was trained on arrays without names of columns; give an array.")
    missing = [name for name in about.columns if name not in table]
    if missing:
        raise DataError(f"the rows have no column {missing[0]!r}, which the model was trained with.")
    for name in about.columns:
        if table.missing(name).any():
            row = int(np.argmax(table.missing(name))) + 1
            raise DataError(
                f"column {name!r} has a missing value in row {row}; the model was trained on rows without."
            )
    return stack_numbers("these rows", table.only(about.columns).columns)
