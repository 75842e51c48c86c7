"""`Federation.from_clients`: a federation from arrays of each client.

Each client is checked on its own, then against the first one; only then are their rows laid one after the
other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.pixels import as_floats
from ..errors import DataError
from ..typing import Array, Int64s
from .arrays import clean_features, clean_targets, infer_classes
from .federation import Federation, assemble
from .files.agreement import (
    StringLabels,
    agree_columns,
    agree_labels,
    code_words,
    number_words,
    order_columns,
)
from .library_data import check_mapping, column_names, is_foreign, is_missing, refuse
from .torch_datasets import channels_last, is_dataset, read_dataset
from .train_test_split import PARTS, assign_parts
from .validation import check_alike, check_client, check_largest_label, check_names, validate

_UNDECIDED = -1


class _Piece(NamedTuple):
    """Rows of one client that share a part."""

    client: int
    name: str
    part: int
    x: Array
    y: Array
    label_names: tuple[str, ...] | None
    columns: tuple[str, ...] | None


def gather_clients(
    clients: Mapping[str, object],
    test_fraction: float,
    validation_fraction: float,
    classes: int | None,
    seed: int,
) -> Federation:
    """A checked federation of these clients; see :meth:`Federation.from_clients`."""
    check_mapping(clients)
    if not clients:
        raise DataError("there are no clients; give at least one client with training rows.")
    names = [str(name) for name in clients]
    check_names(names)
    given, columns = _with_same_columns(list(_pieces(clients)))
    pieces, label_names = _encode_labels(given, classes)
    for piece in pieces[1:]:
        check_alike(piece.name, piece.x, piece.y, pieces[0].name, pieces[0].x, pieces[0].y)
    owners, parts = _decide(pieces, len(names), test_fraction, validation_fraction, seed)
    x, y = np.concatenate([p.x for p in pieces]), np.concatenate([p.y for p in pieces])
    train, validation, test = assemble(x, y, owners, parts, len(names))
    known = classes if classes is not None else infer_classes(y)
    return validate(Federation(train, validation, test, known, tuple(names), label_names, columns=columns))


def _pieces(clients: Mapping[str, object]) -> Iterator[_Piece]:
    for client, (name, given) in enumerate(clients.items()):
        for part, pair in _parts_of(str(name), given):
            x, y, columns = _pair(str(name), pair)
            words = _words(str(name), y)
            codes = y if words is None else words.codes
            check_client(str(name), x, np.asarray(codes))
            label_names = None if words is None else words.names
            yield _Piece(client, str(name), part, x, np.asarray(codes), label_names, columns)


def _parts_of(name: str, given: object) -> list[tuple[int, object]]:
    if not isinstance(given, Mapping):
        return [(_UNDECIDED, given)]
    strange = sorted(set(given) - set(PARTS))
    if strange or "train" not in given:
        wrong = f"has an unknown part {strange[0]!r}" if strange else "has no part 'train'"
        raise DataError(f"client {name!r} {wrong}; allowed parts are {', '.join(PARTS)}.")
    return [(PARTS.index(part), pair) for part, pair in given.items() if pair is not None]


def _pair(name: str, pair: Any) -> tuple[Array, Array | StringLabels, tuple[str, ...] | None]:
    if is_dataset(pair):
        return *read_dataset(name, pair), None
    if is_foreign(pair):
        raise refuse(pair, f"client {name!r}:")
    try:
        x, y = pair
        return (
            channels_last(x, np.asarray(x)),
            y if isinstance(y, StringLabels) else np.asarray(y),
            column_names(x),
        )
    except (TypeError, ValueError):
        raise DataError(
            f"client {name!r} is not a pair of arrays (x, y); give features and targets."
        ) from None


def _with_same_columns(pieces: list[_Piece]) -> tuple[list[_Piece], tuple[str, ...] | None]:
    """Tables of other libraries have names of columns, by which they are matched."""
    keys = [p.name if p.part == _UNDECIDED else f"{p.name}, {PARTS[p.part]}" for p in pieces]
    columns = agree_columns({key: piece.columns for key, piece in zip(keys, pieces, strict=True)})
    if columns is None:
        return pieces, None
    return [p._replace(x=order_columns(p.x, p.columns or columns, columns)) for p in pieces], columns


def _words(name: str, y: Array | StringLabels) -> StringLabels | None:
    """Labels that are words, each kept once."""
    if isinstance(y, StringLabels):
        return y
    column = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if column.ndim != 1 or column.dtype.kind not in "UOT":
        return None
    words = ["" if is_missing(word) else word for word in column.tolist()]
    return code_words(name, words) if all(isinstance(word, str) for word in words) else None


def _encode_labels(pieces: list[_Piece], classes: int | None) -> tuple[list[_Piece], tuple[str, ...] | None]:
    """Labels that are words become numbers in alphabetical order, the same for every client."""
    label_names = agree_labels(_names_by_client(pieces))
    for piece in pieces if classes is None else ():
        check_largest_label(piece.name, piece.y, len(pieces))
    cleaned = [_clean(piece, label_names, classes) for piece in pieces]
    if len({piece.x.dtype for piece in cleaned}) > 1:  # images as bytes here and as floats there
        cleaned = [piece._replace(x=as_floats(piece.x)) for piece in cleaned]
    return cleaned, label_names


def _clean(piece: _Piece, label_names: tuple[str, ...] | None, classes: int | None) -> _Piece:
    y = piece.y
    if piece.label_names is not None and label_names is not None:
        y = number_words(StringLabels(piece.label_names, y), label_names)
    return piece._replace(x=clean_features(piece.x), y=clean_targets(y, classes))


def _names_by_client(pieces: list[_Piece]) -> dict[str, list[str] | None]:
    """The labels that each client uses in all of its parts, or None for numbers."""
    names: dict[str, list[str] | None] = {}
    for piece in pieces:
        mine = piece.label_names
        before = names.setdefault(piece.name, None if mine is None else [])
        if (before is None) != (mine is None):
            raise DataError(f"client {piece.name!r} has words and numbers as labels; use one of the two.")
        if before is not None and mine is not None:
            before += mine
    return names


def _decide(
    pieces: list[_Piece], clients: int, test_fraction: float, validation_fraction: float, seed: int
) -> tuple[Int64s, NDArray[np.int8]]:
    """Owner and part of every row; parts that were given stay, pairs are cut by the fractions."""
    lengths = [len(piece.x) for piece in pieces]
    owners = np.repeat([piece.client for piece in pieces], lengths)
    given = np.repeat(np.array([piece.part for piece in pieces], np.int8), lengths)
    drawn = assign_parts(owners, clients, test_fraction, validation_fraction, seed)
    return owners, np.where(given == _UNDECIDED, drawn, given)
