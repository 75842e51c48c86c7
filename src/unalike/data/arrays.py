"""Array types and alignment.

Features are 32-bit floats, or 32-bit integers where they are symbols (characters, tokens); images may stay
bytes, a quarter of the memory, and models see them as floats in [0, 1]. Labels are 32-bit integers, and
targets of a regression 32-bit floats. Everything a user gives is brought to these once, at the door.
"""

from __future__ import annotations

import numpy as np

from ..typing import Array, Int64s

_LOWEST, _HIGHEST = -(2**31), 2**31 - 1
ALIGNMENT = 64
"""Bytes; XLA uses a host array in place if it starts at a multiple of it."""
_CHUNK = 8 << 20
"""Bytes that are gathered at a time."""


def clean_features(x: Array) -> Array:
    """Features as float32, int32 for symbols, or uint8 for images.

    >>> clean_features(np.full((1, 2, 2), 255, np.uint8)).dtype, clean_features(np.array([[3, 4]])).dtype
    (dtype('uint8'), dtype('int32'))
    """
    return _convert(x, _feature_type(x))


def gather_features(x: Array, rows: Int64s) -> Array:
    """Clean features of some rows, where every device of a CPU can use them without a copy of its own."""
    kind = _feature_type(x)
    gathered = aligned_empty((len(rows), *x.shape[1:]), kind)
    at_once = max(1, _CHUNK // max(1, x[:1].nbytes))
    for first in range(0, len(rows), at_once):  # so that what is converted never takes much room
        gathered[first : first + at_once] = _convert(x[rows[first : first + at_once]], kind)
    return gathered


def aligned_empty(shape: tuple[int, ...], kind: np.dtype) -> Array:
    """Room for an array that starts at a multiple of 64 bytes, which XLA uses in place.

    >>> aligned_empty((3, 5), np.dtype(np.float32)).ctypes.data % ALIGNMENT
    0
    """
    size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    room = np.empty(size + ALIGNMENT, np.uint8)
    first = -room.ctypes.data % ALIGNMENT
    return room[first : first + size].view(kind).reshape(shape)


def _feature_type(x: Array) -> np.dtype:
    if x.dtype == np.uint8 and x.ndim >= 3:
        return x.dtype
    whole = x.dtype.kind in "iu" and (x.size == 0 or (x.min() >= _LOWEST and x.max() <= _HIGHEST))
    return np.dtype(np.int32 if whole else np.float32)


def _convert(x: Array, kind: np.dtype) -> Array:
    with np.errstate(over="ignore"):  # what is too large for 32 bits becomes infinite, and is reported so
        return x.astype(kind, copy=False)


def clean_targets(y: Array, classes: int | None = None) -> Array:
    """Labels as int32, targets as float32; whole floats are labels when the number of classes is given."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    labels = y.dtype.kind in "iub" or (classes is not None and bool(np.all(y == np.floor(y))))
    if labels:  # a label beyond 32 bits must stay out of range, not wrap round into it
        return (
            np.clip(y, _LOWEST, _HIGHEST).astype(np.int32)
            if y.itemsize > 4
            else y.astype(np.int32, copy=False)
        )
    with np.errstate(over="ignore"):
        return y.astype(np.float32, copy=False)


def infer_classes(y: Array) -> int | None:
    """One more than the largest label, or None when the targets are not integers."""
    if y.dtype.kind not in "iu":
        return None
    return int(y.max()) + 1 if y.size else 0
