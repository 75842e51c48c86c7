"""NumPy and safetensors files, checked against their headers.

A `.npy` header may declare any shape, and a `.npz` is a zip whose members may be encrypted, packed in an
unusual way, or unfold without end. Type, shape and size are compared with the file before memory is asked
for, and nothing is ever unpickled.
"""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.lib import format as npy

from ...core.plain_files import check_plain_file, check_unfolded
from ...typing import Array
from ..arrays import aligned_empty

_ENCRYPTED = 1
_PIECE = 1 << 20
"""Bytes that are read at a time."""
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class DeclaredArray(NamedTuple):
    """What a header says: where the values start and how many bytes they take."""

    start: int
    size: int


def read_npz(path: Path, wanted: tuple[str, ...]) -> dict[str, Array]:
    """Those of the wanted arrays that a `.npz` file has; `ValueError` or `OSError` if one is not honest."""
    held = check_plain_file(path, None)
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        chosen = {name: members[name] for name in wanted if name in members}
        check_unfolded(sum(info.file_size for info in chosen.values()), held)
        return {name: _read_member(archive, name, info) for name, info in chosen.items()}


def npz_names(path: Path) -> list[str]:
    """The names of the arrays in a `.npz` file."""
    check_plain_file(path, None)
    with zipfile.ZipFile(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def read_npy(path: Path, mmap: bool = False) -> Array:
    """One array; with `mmap` it stays on disk until it is used."""
    held = check_plain_file(path, 1 << 62 if mmap else None)
    with path.open("rb") as file:
        _check_size(file, held)
    if mmap:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    with path.open("rb") as file:
        return read_aligned(file)


def _read_member(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo) -> Array:
    if info.flag_bits & _ENCRYPTED:
        raise ValueError(f"its array {name} is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"its array {name} is packed in a way that NumPy does not write")
    with archive.open(info) as file:
        _check_size(file, info.file_size)
    with archive.open(info) as file:
        return read_aligned(file)


def read_aligned(file: IO[bytes]) -> Array:
    """The array of a `.npy` file that was checked, where XLA uses it without a copy of its own."""
    shape, by_columns, kind = _HEADERS[npy.read_magic(file)](file)
    array = aligned_empty(shape[::-1] if by_columns else shape, kind)
    room, filled = array.reshape(-1).view(np.uint8).data, 0
    while filled < len(room):
        piece = file.read(min(_PIECE, len(room) - filled))
        if not piece:
            raise ValueError("it ends before its last value")
        room[filled : filled + len(piece)] = piece
        filled += len(piece)
    return array.T if by_columns else array


def _check_size(file: IO[bytes], held: int) -> None:
    declared = read_declaration(file)
    if declared.start + declared.size != held:
        raise ValueError(
            f"its length does not fit its header, which declares {declared.size:,} bytes of values"
        )


def read_declaration(file: IO[bytes]) -> DeclaredArray:
    """The header of a `.npy` file, if it is one of plain values."""
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError("it is not a plain NumPy array")
    shape, _, kind = _HEADERS[version](file)
    if kind.hasobject or kind.fields is not None or not kind.itemsize:
        raise ValueError(f"it holds values of type {kind}, not numbers or words")
    if any(length < 0 for length in shape) or not math.prod(shape[1:]):
        raise ValueError(f"it has the shape {shape}, without a value in any row")
    return DeclaredArray(file.tell(), math.prod(shape) * kind.itemsize)
