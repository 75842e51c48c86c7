"""Which types do we compute with?

Features are 32-bit floats, or 32-bit integers where they are symbols (characters, tokens); labels are
32-bit integers, and targets of a regression 32-bit floats. Everything a user gives is brought to these
once, at the door.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_LOWEST, _HIGHEST = -(2**31), 2**31 - 1


def clean_features(x: Array) -> Array:
    """Features as float32, or int32 for symbols; `uint8` images become floats in [0, 1].

    >>> clean_features(np.full((1, 2, 2), 255, np.uint8)).max(), clean_features(np.array([[3, 4]])).dtype
    (np.float32(1.0), dtype('int32'))
    """
    if x.dtype == np.uint8 and x.ndim >= 3:
        return x.astype(np.float32) / np.float32(255)
    if x.dtype.kind in "iu" and (x.size == 0 or (x.min() >= _LOWEST and x.max() <= _HIGHEST)):
        return x.astype(np.int32, copy=False)
    with np.errstate(
        over="ignore"
    ):  # a number too large for 32 bits becomes infinite and is reported as such
        return x.astype(np.float32, copy=False)


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
