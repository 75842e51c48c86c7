"""FEMNIST: handwritten characters of 62 classes by their writers.

From LEAF's JSON files (S. Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018), which its own
scripts make, or from TensorFlow Federated's HDF5 files; both are put into the folder of UNALIKE_DATA.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...errors import DataError
from ...typing import Array, Fields
from .files import local
from .leaf_files import leaf_users
from .source import Rows, Source, by_user, source_registry
from .tff_files import tff_examples

CLASSES, SIDE = 62, 28
_LARGEST = 2.0**31


@source_registry.add("femnist")
def femnist() -> Source:
    """Handwritten characters of 62 classes by writer: LEAF's femnist/*.json, or TFF's fed_emnist_*.h5."""
    folder = local("femnist")
    if folder is not None:
        users = leaf_users(folder)
        return by_user({name: _picture(*rows) for name, rows in users.items()}, CLASSES, "FEMNIST (LEAF)")
    parts = [path for part in ("train", "test") if (path := local(f"fed_emnist_{part}.h5")) is not None]
    if not parts:
        raise DataError(
            "femnist was not found; set UNALIKE_DATA to a folder that holds femnist/*.json, made by LEAF's "
            "scripts (leaf.cmu.edu), or fed_emnist_train.h5 and fed_emnist_test.h5 of TensorFlow Federated."
        )
    return by_user(tff_pictures(tff_examples(parts)), CLASSES, "FEMNIST (TensorFlow Federated)")


def tff_pictures(examples: Iterator[tuple[str, Fields]]) -> dict[str, Rows]:
    """Pictures and labels by user, of several files one after the other."""
    users: dict[str, Rows] = {}
    for name, arrays in examples:
        x, y = _picture(arrays["pixels"], arrays["label"])
        before = users.get(name)
        users[name] = (x, y) if before is None else (_join_rows(before[0], x), _join_rows(before[1], y))
    return users


def _picture(pixels: object, labels: object) -> Rows:
    """Pictures of one channel, whether they come as rows of 784 numbers or as squares."""
    x, y = _numbers(pixels, "pixels").astype(np.float32), _numbers(labels, "labels")
    if y.ndim != 1 or (y != np.floor(y)).any():
        raise DataError("FEMNIST's labels must be whole numbers, one for each picture.")
    if x.size != len(y) * SIDE * SIDE:
        raise DataError(f"FEMNIST's pictures have {SIDE}x{SIDE} pixels, but rows have shape {x.shape[1:]}.")
    return x.reshape(-1, SIDE, SIDE, 1), y.astype(np.int32)


def _numbers(values: object, what: str) -> Array:
    """Values of a file as an array of numbers: rows of unequal length, words and missing values are not."""
    try:
        found = np.asarray(values, np.float64)
    except (ValueError, TypeError, OverflowError):
        found = None
    if found is None or not (np.abs(found) < _LARGEST).all():
        raise DataError(
            f"FEMNIST's {what} must be numbers, and as many in every row; the file holds something else."
        )
    return found


def _join_rows(first: Array, second: Array) -> Array:
    return np.concatenate([first, second])
