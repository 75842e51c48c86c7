"""Files with users: LEAF's JSON (FEMNIST, Shakespeare, ...) and TensorFlow Federated's HDF5.

    LEAF   S. Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018: files
           {"users": [...], "user_data": {user: {"x": [...], "y": [...]}}}, several for one data set
    TFF    one HDF5 file per part, examples/USER/NAME, with `pixels` and `label`, or `snippets` of text

FEMNIST has 62 classes of handwritten characters by their writers, Shakespeare the next character by role.
LEAF's files are made by its own scripts; both kinds are put into the folder of UNALIKE_DATA.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DataError
from ...typing import Array, Fields
from .files import local, reading
from .shakespeare import from_roles
from .source import Source, source_registry

CLASSES, SIDE = 62, 28
_LARGEST = 2.0**31
_LEAF = 'LEAF\'s {"users": [...], "user_data": {user: {"x": [...], "y": [...]}}}'
_TFF = "TensorFlow Federated's examples/USER/NAME"

Rows = tuple[Array, Array]


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


def leaf_users(folder: Path) -> dict[str, tuple[list[Any], list[Any]]]:
    """The rows of every user in all JSON files below a folder, training files first."""
    files = sorted(folder.rglob("*.json"), key=lambda path: ("test" in path.parts, str(path)))
    if not files:
        raise DataError(f"{folder.name} has no .json file; it must hold {_LEAF}.")
    users: dict[str, tuple[list[Any], list[Any]]] = {}
    for path in files:
        with reading(path, _LEAF):
            content = json.loads(path.read_text(encoding="utf-8"))
            for name, rows in content["user_data"].items():
                if len(rows["x"]) != len(rows["y"]):
                    raise DataError(f"{path.name}: user {name!r} has {len(rows['x'])} rows but "
                                    f"{len(rows['y'])} labels.")  # fmt: skip
                kept = users.setdefault(str(name), ([], []))
                kept[0].extend(rows["x"])
                kept[1].extend(rows["y"])
    return {name: rows for name, rows in users.items() if rows[1]}


def by_user(users: Mapping[str, Rows], classes: int, description: str) -> Source:
    """Rows whose owners are the users.

    >>> source = by_user({"a": (np.zeros((2, 3)), np.array([0, 1]))}, 2, "two rows")
    >>> source.owner_names, source.owners.tolist()
    (('a',), [0, 0])
    """
    if not users:
        raise DataError(f"{description}: nobody has any row.")
    y = np.concatenate([rows[1] for rows in users.values()]).astype(np.int32)
    if not y.size:
        raise DataError(f"{description}: nobody has any row.")
    if not (y.min() >= 0 and y.max() < classes):
        raise DataError(f"{description}: labels must be whole numbers from 0 to {classes - 1}.")
    return Source(
        np.concatenate([rows[0] for rows in users.values()]),
        y,
        classes,
        owners=np.repeat(np.arange(len(users)), [len(rows[1]) for rows in users.values()]),
        owner_names=tuple(users),
        description=description,
    )


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


def tff_examples(paths: Sequence[Path]) -> Iterator[tuple[str, Fields]]:
    """Every user of some HDF5 files, with its arrays."""
    try:
        h5py = importlib.import_module("h5py")
    except ImportError:
        raise DataError(
            f"{paths[0].name} is an HDF5 file; install h5py to read it, or use LEAF's JSON files."
        ) from None
    for path in paths:
        with reading(path, _TFF), h5py.File(path, "r") as file:
            for name, group in file["examples"].items():
                yield str(name), {str(key): np.asarray(values) for key, values in group.items()}


def tff_pictures(examples: Iterator[tuple[str, Fields]]) -> dict[str, Rows]:
    """Pictures and labels by user, of several files one after the other."""
    users: dict[str, Rows] = {}
    for name, arrays in examples:
        x, y = _picture(arrays["pixels"], arrays["label"])
        before = users.get(name)
        users[name] = (x, y) if before is None else (_join_rows(before[0], x), _join_rows(before[1], y))
    return users


def tff_texts(examples: Iterator[tuple[str, Fields]]) -> dict[str, str]:
    """Everything that a role says, by role."""
    said: dict[str, str] = {}
    for name, arrays in examples:
        words = [bytes(snippet).decode("utf-8", "replace") for snippet in arrays["snippets"]]
        said[name] = "\n".join([*([said[name]] if name in said else []), *words])
    return said


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
