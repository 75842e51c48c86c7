"""Facts about a federation (shapes, names, classes), kept for predictions without its rows.

A run folder keeps what clients and classes are called, what a row looks like and how columns became features:
enough to predict new rows, and nothing of any row. Federations made of facts have rows of zeros that take no
room.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..core.plain_files import check_plain_file
from ..errors import DataError
from ..typing import Array, Document, Int64s, Keywords
from .federation import Federation, Split
from .preprocessing import Preparation
from .train_test_split import PARTS

VERSION = 1
NAMES = ("names", "label_names", "columns", "groups")


def facts_of(federation: Federation) -> Document:
    """The facts of a federation, ready for JSON.

    >>> made = Federation.from_clients({"a": (np.eye(2), [0, 1])}, test_fraction=0)
    >>> again = federation_from(facts_of(made))
    >>> again.names, again.input_shape, again.classes, again.train.sizes.tolist()
    (('a',), (2,), 2, [2])
    """
    x, y = federation.train.x, federation.train.y
    return {
        "version": VERSION,
        **{name: getattr(federation, name) for name in (*NAMES, "classes", "target")},
        "preparation": None if federation.preparation is None else federation.preparation.as_dict(),
        "x": [x.dtype.name, list(x.shape[1:])],
        "y": [y.dtype.name, list(y.shape[1:])],
        "rows": {part: getattr(federation, part).sizes.tolist() for part in PARTS},
    }


def federation_from(facts: Any) -> Federation:
    """A federation whose rows are elsewhere, from its facts; a `DataError` for anything else."""
    try:
        if facts["version"] != VERSION:
            raise DataError(f"the facts are of version {facts['version']}; this Unalike reads {VERSION}.")
        sizes = {part: np.array(facts["rows"][part], np.int64) for part in PARTS}
        splits = [_zeros(sizes[part], facts["x"], facts["y"]) for part in PARTS]
        prepared = facts["preparation"]
        named: Keywords = {name: _names(facts[name]) for name in NAMES}
        return Federation(
            splits[0],
            splits[1],
            splits[2],
            facts["classes"],
            target=facts["target"],
            preparation=None if prepared is None else Preparation.of(prepared),
            **named,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"these are not the facts of a federation ({error}).") from None


def read_facts(path: Path) -> Federation:
    """The federation, without rows, of a file of facts."""
    if not path.is_file():
        raise DataError(f"there is no file {path}, without which nothing is known of the rows.")
    check_plain_file(path)
    try:
        return federation_from(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is damaged ({error}).") from None


def _names(given: Any) -> tuple[str, ...] | None:
    return None if given is None else tuple(str(name) for name in given)


def _zeros(sizes: Int64s, x: Array, y: Array) -> Split:
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Split(_none(int(offsets[-1]), *x), _none(int(offsets[-1]), *y), offsets)


def _none(rows: int, kind: str, shape: list[int]) -> Array:
    return np.broadcast_to(np.zeros((), kind), (rows, *(int(length) for length in shape)))
