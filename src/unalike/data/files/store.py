"""A federation stored as a folder of arrays.

One `.npy` file per array and a `federation.json`. Files are never pickled, so reading one runs no code, and
they can be mapped: a federation larger than memory opens at once. The JSON is written last, so a folder
that has one is whole.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import NoneType

import numpy as np

from ...core.plain_files import check_plain_file
from ...core.private_files import FILE, make_private_folder
from ...errors import DataError
from ...typing import Array, Document
from ..federation import Federation, Split
from ..preprocessing import Preparation
from ..train_test_split import PARTS
from ..validation import validate
from .array_files import read_npy
from .text_columns import in_short

MANIFEST = "federation.json"
IMPORTANCE = "importance.npy"
_VERSION = 1
_KINDS: dict[str, tuple[type, ...]] = {
    "classes": (int, NoneType),
    "names": (list, NoneType),
    "label_names": (list, NoneType),
    "columns": (list, NoneType),
    "description": (str, NoneType),
    "target": (str, NoneType),
    "importance": (bool, NoneType),
    "groups": (list, NoneType),
    "preparation": (dict, NoneType),
}


def save_federation(federation: Federation, folder: Path) -> Path:
    """Write the federation and return its folder."""
    make_private_folder(folder)
    (folder / MANIFEST).unlink(missing_ok=True)
    for part in PARTS:
        split = getattr(federation, part)
        for kind in ("x", "y", "offsets"):
            _write_array(folder / f"{part}_{kind}.npy", getattr(split, kind))
    if federation.given_importance is not None:
        _write_array(folder / IMPORTANCE, federation.given_importance)
    manifest = {
        "importance": federation.given_importance is not None,
        "version": _VERSION,
        "classes": federation.classes,
        "names": federation.names,
        "label_names": federation.label_names,
        "description": federation.description,
        "columns": federation.columns,
        "target": federation.target,
        "groups": federation.groups,
        "preparation": None if federation.preparation is None else federation.preparation.as_dict(),
    }
    _replace(folder / MANIFEST, json.dumps(manifest).encode())
    return folder


def load_federation(folder: Path, mmap: bool = True, check: bool = True) -> Federation:
    """Read a federation; `check=False` skips the pass over all rows."""
    manifest = _read_manifest(folder / MANIFEST)
    train, validation, test = (_read_split(folder, part, mmap) for part in PARTS)
    federation = Federation(
        train,
        validation,
        test,
        classes=manifest.get("classes"),
        names=_names(manifest, "names"),
        label_names=_names(manifest, "label_names"),
        description=manifest.get("description") or "",
        given_importance=_read_array(folder / IMPORTANCE, False) if manifest.get("importance") else None,
        columns=_names(manifest, "columns"),
        target=manifest.get("target"),
        groups=_names(manifest, "groups"),
        preparation=_preparation(manifest),
    )
    return validate(federation) if check else federation


def _read_manifest(path: Path) -> Document:
    if not path.exists():
        raise DataError(f"{str(path.parent)!r} is not a saved federation: it has no {MANIFEST}.")
    try:
        check_plain_file(path)
        manifest = json.loads(path.read_text(encoding="utf-8"))
        _check_manifest(manifest)
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{str(path)!r} is damaged ({error}); save the federation again.") from None
    if manifest.get("version") != _VERSION:
        raise DataError(
            f"{str(path)!r} has version {manifest.get('version')}; this Unalike reads {_VERSION}."
        )
    return manifest


def _check_manifest(manifest: object) -> None:
    """`ValueError` if something is not of the type that it was written with."""
    if not isinstance(manifest, dict):
        raise ValueError("it is not a table of settings")
    for key, kinds in _KINDS.items():
        if not isinstance(manifest.get(key), kinds):
            raise ValueError(f"its {key} cannot be {manifest[key]!r:.40}")
    for key in ("names", "label_names", "columns", "groups"):
        if not all(isinstance(name, str) for name in manifest.get(key) or ()):
            raise ValueError(f"its {key} are not all words")
    if isinstance(manifest.get("classes"), bool):
        raise ValueError("its classes are not a number")


def _names(manifest: Document, key: str) -> tuple[str, ...] | None:
    """Names that a manifest may have; folders saved by an older version do not know all of them."""
    names = manifest.get(key)
    return None if names is None else tuple(names)


def _preparation(manifest: Document) -> Preparation | None:
    document = manifest.get("preparation")
    return None if document is None else Preparation.of(document)


def _read_split(folder: Path, part: str, mmap: bool) -> Split:
    x, y, offsets = (_read_array(folder / f"{part}_{kind}.npy", mmap) for kind in ("x", "y", "offsets"))
    if offsets.dtype.kind not in "iu" or offsets.ndim != 1 or not len(offsets) or x.ndim < 2 or not y.ndim:
        raise DataError(
            f"the {part} arrays of {str(folder)!r} do not belong together; save the federation again."
        )
    return Split(x, y, np.asarray(offsets, dtype=np.int64))


def _read_array(path: Path, mmap: bool) -> Array:
    try:
        array = read_npy(path, mmap)
    except Exception as error:  # a header that somebody made up fails in ways of its own
        raise DataError(
            f"{str(path)!r} cannot be read ({in_short(error)}); save the federation again."
        ) from None
    # A plain view of the map: the same pages, without the costs that the memmap subclass adds to every slice.
    return array.view(np.ndarray)


def _write_array(path: Path, array: Array) -> None:
    """Write beside and rename: a federation mapped from this very file keeps its old pages."""
    beside = path.with_suffix(".part")
    with beside.open("wb") as file:
        np.save(file, array, allow_pickle=False)
    beside.chmod(FILE)
    beside.replace(path)


def _replace(path: Path, content: bytes) -> None:
    beside = path.with_suffix(".part")
    beside.write_bytes(content)
    beside.chmod(FILE)
    beside.replace(path)
