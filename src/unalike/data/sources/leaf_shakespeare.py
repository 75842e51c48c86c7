"""Shakespeare as LEAF and TensorFlow Federated have it: the next character, by role.

From LEAF's JSON files (S. Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018), which its own
scripts make, or from TensorFlow Federated's HDF5 files; both are put into the folder of UNALIKE_DATA.
`shakespeare.py` reads plain texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...errors import DataError
from ...typing import Fields
from .files import local
from .leaf_files import leaf_users
from .shakespeare import from_roles
from .source import Source, by_user, source_registry
from .tff_files import tff_examples


@source_registry.add("leaf_shakespeare")
def leaf_shakespeare() -> Source:
    """Next character by role: LEAF's leaf_shakespeare/*.json, or TFF's shakespeare_*.h5."""
    folder = local("leaf_shakespeare")
    if folder is not None:
        return next_characters(leaf_users(folder))
    parts = [path for part in ("train", "test") if (path := local(f"shakespeare_{part}.h5")) is not None]
    if not parts:
        raise DataError(
            "leaf_shakespeare was not found; set UNALIKE_DATA to a folder that holds "
            "leaf_shakespeare/*.json, made by LEAF's scripts (leaf.cmu.edu), or shakespeare_train.h5 and "
            "shakespeare_test.h5 of TensorFlow Federated; `shakespeare` reads plain texts."
        )
    return from_roles(tff_texts(tff_examples(parts)), 80, 20, 500)


def next_characters(users: Mapping[str, tuple[Sequence[str], Sequence[str]]]) -> Source:
    """LEAF's windows of equal length, each with the character that follows."""
    texts = [text for x, y in users.values() for text in (*x, *y)]
    if not all(isinstance(text, str) for text in texts):
        raise DataError("windows of text, and the characters that follow them, must be strings.")
    symbols = sorted(set().union(*texts))
    places = {symbol: place for place, symbol in enumerate(symbols)}
    lengths = {len(window) for x, _ in users.values() for window in x}
    if len(lengths) != 1 or 0 in lengths or any(len(symbol) != 1 for _, y in users.values() for symbol in y):
        raise DataError("windows of text must have one length, and be followed by one character.")
    coded = {
        name: (
            np.array([[places[symbol] for symbol in window] for window in x], np.int32),
            np.array([places[symbol] for symbol in y], np.int32),
        )
        for name, (x, y) in users.items()
    }
    made = by_user(coded, len(symbols), "Shakespeare's roles (LEAF)")
    return Source(**{**vars(made), "label_names": tuple(symbols), "ordered": True})


def tff_texts(examples: Iterator[tuple[str, Fields]]) -> dict[str, str]:
    """Everything that a role says, by role."""
    said: dict[str, str] = {}
    for name, arrays in examples:
        words = [bytes(snippet).decode("utf-8", "replace") for snippet in arrays["snippets"]]
        said[name] = "\n".join([*([said[name]] if name in said else []), *words])
    return said
