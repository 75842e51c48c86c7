"""How do arrays that clients give one by one become a federation?

Each client is checked on its own, then against the first one; only then are their rows laid one after the
other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .agreement import Words, agree_labels, code_words, number_words
from .arrays import clean_features, clean_targets, infer_classes
from .federation import Federation, assemble
from .splitting import PARTS, assign_parts
from .validation import check_alike, check_client, check_names, validate

Array = NDArray[Any]
_UNDECIDED = -1


class _Piece(NamedTuple):
    """Rows of one client that share a part."""

    client: int
    name: str
    part: int
    x: Array
    y: Array


def gather_clients(
    clients: Mapping[str, Any],
    test_fraction: float,
    validation_fraction: float,
    classes: int | None,
    seed: int,
) -> Federation:
    """A checked federation of these clients; see :meth:`Federation.from_clients`."""
    if not clients:
        raise DataError("there are no clients; give at least one client with training rows.")
    names = [str(name) for name in clients]
    check_names(names)
    pieces, label_names = _encoded(list(_pieces(clients)), classes)
    for piece in pieces[1:]:
        check_alike(piece.name, piece.x, piece.y, pieces[0].name, pieces[0].x, pieces[0].y)
    owners, parts = _decide(pieces, len(names), test_fraction, validation_fraction, seed)
    x, y = np.concatenate([p.x for p in pieces]), np.concatenate([p.y for p in pieces])
    train, validation, test = assemble(x, y, owners, parts, len(names))
    known = classes if classes is not None else infer_classes(y)
    return validate(Federation(train, validation, test, known, tuple(names), label_names))


def _pieces(clients: Mapping[str, Any]) -> Iterator[_Piece]:
    for client, (name, given) in enumerate(clients.items()):
        for part, pair in _parts_of(str(name), given):
            x, y = _pair(str(name), pair)
            check_client(str(name), x, y)
            yield _Piece(client, str(name), part, x, y)


def _parts_of(name: str, given: Any) -> list[tuple[int, Any]]:
    if not isinstance(given, Mapping):
        return [(_UNDECIDED, given)]
    strange = sorted(set(given) - set(PARTS))
    if strange or "train" not in given:
        wrong = f"has an unknown part {strange[0]!r}" if strange else "has no part 'train'"
        raise DataError(f"client {name!r} {wrong}; allowed parts are {', '.join(PARTS)}.")
    return [(PARTS.index(part), pair) for part, pair in given.items() if pair is not None]


def _pair(name: str, pair: Any) -> tuple[Array, Array]:
    try:
        x, y = pair
        return np.asarray(x), np.asarray(y)
    except (TypeError, ValueError):
        raise DataError(
            f"client {name!r} is not a pair of arrays (x, y); give features and targets."
        ) from None


def _encoded(pieces: list[_Piece], classes: int | None) -> tuple[list[_Piece], tuple[str, ...] | None]:
    """Labels that are words become numbers in alphabetical order, the same for every client."""
    words = [_words(piece) for piece in pieces]
    label_names = agree_labels(_names_by_client(pieces, words))
    cleaned = [
        piece._replace(
            x=clean_features(piece.x),
            y=clean_targets(piece.y if mine is None else number_words(mine, label_names or ()), classes),
        )
        for piece, mine in zip(pieces, words, strict=True)
    ]
    return cleaned, label_names


def _words(piece: _Piece) -> Words | None:
    return code_words(piece.name, piece.y.tolist()) if piece.y.dtype.kind == "U" else None


def _names_by_client(pieces: list[_Piece], words: list[Words | None]) -> dict[str, list[str] | None]:
    """The labels that each client uses in all of its parts, or None for numbers."""
    names: dict[str, list[str] | None] = {}
    for piece, mine in zip(pieces, words, strict=True):
        before = names.setdefault(piece.name, None if mine is None else [])
        if (before is None) != (mine is None):
            raise DataError(f"client {piece.name!r} has words and numbers as labels; use one of the two.")
        if before is not None and mine is not None:
            before += mine.names
    return names


def _decide(
    pieces: list[_Piece], clients: int, test_fraction: float, validation_fraction: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Owner and part of every row; parts that were given stay, pairs are cut by the fractions."""
    lengths = [len(piece.x) for piece in pieces]
    owners = np.repeat([piece.client for piece in pieces], lengths)
    given = np.repeat(np.array([piece.part for piece in pieces], np.int8), lengths)
    drawn = assign_parts(owners, clients, test_fraction, validation_fraction, seed)
    return owners, np.where(given == _UNDECIDED, drawn, given)
