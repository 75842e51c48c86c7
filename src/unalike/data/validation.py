"""Validation of client data before training.

Every check ends in a :class:`~unalike.errors.DataError` of one sentence that names the client and says what
to do. A client that misses a class, or has a single sample, is fine: that is what federated data look like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from ..errors import DataError
from ..typing import Array
from .federation import Federation, Split
from .importance import check_importance
from .train_test_split import PARTS

LARGEST_CLASSES, MOST_LABELS = 1_000_000, 10_000
"""Of classes whose number is stated, and of those that labels alone tell: a column of more is a name, a text
or the target of a regression, and a model of it takes very long."""
_CELLS = 1 << 28  # of a table of clients and classes
_CHUNK = 1 << 22  # elements looked at together: a memory map much larger than memory can be checked


def validate(federation: Federation) -> Federation:
    """The same federation, if it can be trained on."""
    if len(federation) == 0:
        raise DataError("there are no clients; give at least one client with training rows.")
    if federation.names is not None:
        check_names(federation.names)
    _check_description(federation)
    for part in PARTS:
        _check_split(federation, part, getattr(federation, part))
    empty = np.flatnonzero(federation.train.sizes == 0)
    if empty.size:
        raise DataError(
            f"client {federation.name(int(empty[0]))!r} has no training rows; "
            "give it at least one or leave it out."
        )
    if federation.given_importance is not None:
        check_importance(federation.given_importance, len(federation))
    return federation


def _check_description(federation: Federation) -> None:
    """The number of classes and the names of labels and columns fit each other and the rows."""
    classes, words, columns = federation.classes, federation.label_names, federation.columns
    if classes is not None and not 0 <= classes <= most_classes(len(federation)):
        raise DataError(
            f"{classes} classes are not possible for {len(federation)} clients; there may be at most "
            f"{most_classes(len(federation)):,}."
        )
    if words is not None and classes is not None and len(words) < classes:
        raise DataError(f"there are {classes} classes but {len(words)} names of labels; name them all.")
    if columns is not None and (len(columns),) != federation.input_shape:
        raise DataError(
            f"there are {len(columns)} names of columns for rows of shape {federation.input_shape}; give one "
            "name per column."
        )


def check_names(names: Iterable[str]) -> None:
    """No two clients have the same name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"client {twice[0]!r} appears more than once; give every client a name of its own.")


def check_client(name: str, x: Array, y: Array) -> None:
    """One client's arrays can be read: real numbers, and as many targets as rows."""
    if x.ndim < 2 and x.size == 0:
        raise DataError(f"client {name!r} has an empty list of rows; give it at least one or leave it out.")
    if x.ndim < 2:
        raise DataError(f"client {name!r} has features of shape {x.shape}; they must be (rows, ...).")
    if x.dtype.kind not in "fiub":
        raise DataError(f"client {name!r} has features of type {x.dtype}; convert them to numbers.")
    if y.dtype.kind not in "fiubU":
        raise DataError(f"client {name!r} has targets of type {y.dtype}; convert them to numbers or words.")
    if y.ndim not in (1, 2) or len(x) != len(y):
        raise DataError(
            f"client {name!r} has {len(x)} rows of features and targets of shape {y.shape}; "
            "give one target per row."
        )


def check_alike(name: str, x: Array, y: Array, first: str, x_first: Array, y_first: Array) -> None:
    """One client's arrays have the same row shape and type as the first client's."""
    for what, mine, other in (("features", x, x_first), ("targets", y, y_first)):
        if mine.shape[1:] != other.shape[1:]:
            raise DataError(
                f"client {name!r} has {what} of shape {mine.shape[1:]} per row but client {first!r} has "
                f"{other.shape[1:]}; give every client the same columns."
            )
        if mine.dtype != other.dtype:
            raise DataError(
                f"client {name!r} has {what} of type {mine.dtype} but client {first!r} has {other.dtype}; "
                "convert them to one type."
            )


def check_largest_label(name: str, y: Array, clients: int) -> None:
    """Whole numbers are classes, as many as words may be, or fewer for very many clients.

    A model has an output for every number up to the largest, and a table of who has what one row per client:
    a larger number is an identifier, or the target of a regression, unless somebody says otherwise.
    """
    most = min(MOST_LABELS, most_classes(clients))
    if y.dtype.kind not in "iu" or not y.size or int(y.max()) < most:
        return
    raise DataError(
        f"client {name!r} has the label {int(y.max())}, but classes are numbered from 0 to at most "
        f"{most - 1:,}; write labels as words, or the targets of a regression as floats (with a decimal "
        "point). In Python, classes=N allows more."
    )


def most_classes(clients: int) -> int:
    """How many classes so many clients can have."""
    return min(LARGEST_CLASSES, _CELLS // max(clients, 1))


def _check_split(federation: Federation, part: str, split: Split) -> None:
    _check_table(part, split)
    _check_rows(part, split, federation.train)
    for what, array in (("feature", split.x), ("target", split.y)):
        row = _first_bad_row(array)
        if row is not None:
            raise DataError(
                f"client {_owner(federation, split, row)!r} has a missing or infinite {what} "
                f"in its {part} rows; fill it in or drop the row."
            )
    _check_labels(federation, part, split)


def _check_rows(part: str, split: Split, train: Split) -> None:
    for what, mine, other in (("features", split.x, train.x), ("targets", split.y, train.y)):
        if mine.shape[1:] != other.shape[1:]:
            raise DataError(
                f"the {part} rows have {what} of shape {mine.shape[1:]} but the train rows {other.shape[1:]};"
                " give all parts the same columns."
            )


def _check_table(part: str, split: Split) -> None:
    for array in (split.x, split.y):
        if array.dtype.kind not in "fiu":
            raise DataError(f"the {part} rows are of type {array.dtype}; convert them to numbers.")
    offsets = split.offsets
    if offsets[0] != 0 or np.any(np.diff(offsets) < 0) or not (offsets[-1] == len(split.x) == len(split.y)):
        raise DataError(
            f"the offsets of the {part} rows do not fit {len(split.x)} rows and {len(split.y)} targets."
        )


def _check_labels(federation: Federation, part: str, split: Split) -> None:
    if federation.classes is None:
        return
    if split.y.dtype.kind not in "iu":
        raise DataError(f"the {part} targets are not whole numbers; leave out classes for a regression.")
    outside = (split.y < 0) | (split.y >= federation.classes)
    if outside.any():
        row = int(np.argwhere(outside)[0][0])
        raise DataError(
            f"client {_owner(federation, split, row)!r} has label {split.y[outside][0]} in its {part} rows; "
            f"labels must lie from 0 to {federation.classes - 1}."
        )


def _first_bad_row(array: Array) -> int | None:
    if array.dtype.kind != "f":
        return None
    for start, rows in _chunks(array):
        bad = ~np.isfinite(rows.reshape(len(rows), -1)).all(axis=1)
        if bad.any():
            return start + int(bad.argmax())
    return None


def _chunks(array: Array) -> Iterator[tuple[int, Array]]:
    step = max(1, _CHUNK // max(1, int(np.prod(array.shape[1:]))))
    return ((start, array[start : start + step]) for start in range(0, len(array), step))


def _owner(federation: Federation, split: Split, row: int) -> str:
    return federation.name(int(np.searchsorted(split.offsets, row, side="right")) - 1)
