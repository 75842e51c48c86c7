"""Purchase100 and Texas100: binary rows of a hundred classes, the usual data of membership inference.

Shokri, Stronati, Song and Shmatikov, "Membership Inference Attacks Against Machine Learning Models", 2017:

    purchase100    197,324 customers, 600 products bought or not, classes are clusters of customers
    texas100       67,330 hospital stays, 6,169 facts, classes are the most frequent procedures

Either is read from the folder of UNALIKE_DATA: `NAME.npz` with the arrays `features` and `labels` (numbers,
or a column for each class), or `NAME.csv` without a header, with the label first. Labels are counted from 0
or from 1. With `samples` only that many rows become floats.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np

from ...errors import DataError
from ...typing import Array
from ..files.array_files import read_npz
from .files import local, reading, require_local
from .source import Source, check_memory, some_rows, source_registry

CLASSES = 100
PURCHASE_FEATURES, TEXAS_FEATURES = 600, 6169
_BLOCK = 1000
"""Lines of a table that are parsed together."""


@source_registry.add("purchase100")
def purchase100(*, samples: int | None = None, seed: int = 0) -> Source:
    """197,324 customers with 600 binary features, 100 classes; needs purchase100.npz or .csv."""
    return _source("purchase100", PURCHASE_FEATURES, "Purchase100", samples, seed)


@source_registry.add("texas100")
def texas100(*, samples: int | None = None, seed: int = 0) -> Source:
    """67,330 hospital stays with 6,169 binary features, 100 classes; needs texas100.npz or .csv."""
    return _source("texas100", TEXAS_FEATURES, "Texas100", samples, seed)


def _source(name: str, features: int, title: str, samples: int | None, seed: int) -> Source:
    needs = f"{features:,} features of 0 and 1, and labels of {CLASSES} classes"
    table = local(f"{name}.csv")
    if table is not None and local(f"{name}.npz") is None:
        with reading(table, f"a label and {needs} in every line, without a header"):
            x, labels = read_table(table, features)
    else:
        file = require_local(f"{name}.npz", f"{title} as arrays features and labels, or as {name}.csv")
        with reading(file, f"the arrays features and labels: {needs}"):
            arrays = read_npz(file, ("features", "labels"))
            x, labels = arrays["features"], arrays["labels"]
    y = class_numbers(labels, name)
    check_features(x, y, features, name)
    chosen = some_rows(len(y), samples, seed)
    check_memory(4 * len(chosen) * features)
    return Source(x[chosen].astype(np.float32), y[chosen], CLASSES, description=title)


def read_table(path: Path, features: int) -> tuple[Array, Array]:
    """Features, a byte each, and labels of a table whose lines begin with the label."""
    parts: list[Array] = []
    with path.open(encoding="utf-8") as file:
        while lines := list(islice(file, _BLOCK)):
            block = np.loadtxt(lines, np.int16, delimiter=",", ndmin=2)
            if block.shape[1] != features + 1:
                raise ValueError(f"a line has {block.shape[1]} numbers")
            parts.append(block)
    if not parts:
        raise ValueError("it has no line")
    labels = np.concatenate([part[:, 0] for part in parts])
    return np.concatenate([part[:, 1:].astype(np.int8) for part in parts]), labels


def class_numbers(labels: Array, name: str) -> Array:
    """Numbers from 0 for labels from 0, from 1, or with a column for each class.

    >>> class_numbers(np.array([[1, 100]]), "x").tolist(), class_numbers(np.eye(100)[[3]], "x").tolist()
    ([0, 99], [3])
    """
    if labels.ndim == 2 and labels.shape[1] == CLASSES:
        return labels.argmax(axis=1).astype(np.int32)
    flat = labels.ravel().astype(np.int64)
    first = int(flat.max() == CLASSES) if len(flat) else 0
    if not len(flat) or flat.min() < first or flat.max() >= first + CLASSES or (flat != labels.ravel()).any():
        raise DataError(f"labels of {name} must be whole numbers from 0 to 99, or from 1 to 100.")
    return (flat - first).astype(np.int32)


def check_features(x: Array, y: Array, features: int, name: str) -> None:
    """Raise for rows that are not those of the data set."""
    if x.shape != (len(y), features):
        raise DataError(
            f"{name} has {len(y)} labels and features of shape {x.shape}, not (rows, {features})."
        )
    if not ((x == 0) | (x == 1)).all():
        raise DataError(f"features of {name} must be 0 or 1.")
