"""Rows of PyTorch's data sets and tensors, without PyTorch.

A map-style data set has a length and gives `(x, y)` for a number. Its transforms are applied once, when the
rows are read; random ones would be drawn anew in every epoch by a PyTorch loader, so that they are warned of.
PyTorch's images are (channels, height, width), a federation's (height, width, channels).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..errors import DataError
from ..typing import Array
from .library_data import can, library

_READ_TWICE = 8
"""Rows that are read twice, to find random transforms."""
_MOST_CHANNELS = 4


def is_dataset(given: object) -> bool:
    """Whether something is a map-style data set of PyTorch.

    >>> is_dataset([1, 2])
    False
    """
    known = library(given) == "torch" and not hasattr(given, "__array__")
    return known and can(given, "__len__") and hasattr(type(given), "__getitem__")


def read_dataset(name: str, dataset: Any) -> tuple[Array, Array]:
    """The features and the targets of all rows, with the transforms of the data set."""
    rows = [_row(name, dataset[i]) for i in range(len(dataset))]
    if not rows:
        raise DataError(f"client {name!r} has an empty list of rows; give it at least one or leave it out.")
    again = [_row(name, dataset[i]) for i in range(min(_READ_TWICE, len(rows)))]
    if any(not np.array_equal(a[0], b[0]) for a, b in zip(rows, again, strict=False)):
        warnings.warn(
            f"client {name!r}: transforms of its {type(dataset).__name__} draw at random; they are "
            "applied once, so that every epoch sees the same rows. Leave random ones out, "
            "and use dropout or more rows.",
            stacklevel=2,
        )
    shapes = {x.shape for x, _ in rows}
    if len(shapes) > 1:
        first, second = sorted(shapes)[:2]
        raise DataError(
            f"client {name!r} has rows of shape {first} and of shape {second}; let a transform give all rows "
            "one shape."
        )
    return np.stack([x for x, _ in rows]), np.array([y for _, y in rows])


def channels_last(given: object, x: Array) -> Array:
    """Images of tensors as (rows, height, width, channels); other rows, and images that are so already, as
    they are.

    >>> channels_last(np.zeros(1), np.zeros((2, 1, 8, 8))).shape
    (2, 1, 8, 8)
    """
    if library(given) != "torch" or x.ndim != 4:
        return x
    is_so = x.shape[3] <= _MOST_CHANNELS < min(x.shape[1:3])
    return x if is_so else np.ascontiguousarray(x.transpose(0, 2, 3, 1))


def _row(name: str, item: Any) -> tuple[Array, Array]:
    """A row of a data set, images with their channels last."""
    if not (isinstance(item, tuple | list) and len(item) == 2):
        raise DataError(
            f"client {name!r} has a data set whose rows are no pairs (x, y) but "
            f"{type(item).__name__}; wrap it in one that gives features and a target."
        )
    x = np.asarray(item[0])
    return channels_last(item[0], x[None])[0], np.asarray(item[1])
