"""What do files look like that are broken, made up, or meant to do harm?

Each maker writes one client's file into a folder; none of them can be trained on.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

Maker = Callable[[Path], None]
PROOF = "executed"
"""A file of this name appears in the working folder if something was unpickled that must not be."""


class Evil:
    """An object that leaves a trace when it is unpickled."""

    def __reduce__(self):
        return (open, (PROOF, "w"))


def npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def declared(shape, kind="<f8", values=b"\0" * 64) -> bytes:
    """An array file whose header declares any shape."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values


def npz(x: bytes, y: bytes, method: int = zipfile.ZIP_DEFLATED) -> Maker:
    def make(folder: Path) -> None:
        with zipfile.ZipFile(folder / "culprit.npz", "w", method) as archive:
            archive.writestr("x.npy", x)
            archive.writestr("y.npy", y)

    return make


def written(name: str, content: bytes) -> Maker:
    def make(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return make


def encrypted(folder: Path) -> None:
    """The flag that a member is encrypted, in both places where a zip has it."""
    npz(X, Y)(folder)
    path = folder / "culprit.npz"
    content = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = content.find(mark)
        while start >= 0:
            content[start + place] |= 1
            start = content.find(mark, start + 1)
    path.write_bytes(content)


def bomb(folder: Path) -> None:
    """Twenty megabytes that unfold to twenty gigabytes of zeros, by a directory that says so."""
    npz(declared((10, 2)), Y)(folder)
    path = folder / "culprit.npz"
    content = bytearray(path.read_bytes())
    at = content.find(b"PK\x01\x02")
    content[at + 24 : at + 28] = struct.pack("<I", 4_000_000_000)
    path.write_bytes(content)


def link_to_zeros(folder: Path) -> None:
    (folder / "culprit.csv").symlink_to("/dev/zero")


def truncated(folder: Path) -> None:
    npz(X, Y)(folder)
    path = folder / "culprit.npz"
    path.write_bytes(path.read_bytes()[:-30])


X, Y = npy(np.ones((4, 2))), npy(np.arange(4) % 2)
FOUR = b"u,y\n1,0\n2,1\n3,0\n4,%b\n"
MAKERS: dict[str, Maker] = {
    "encrypted": encrypted,
    "bomb": bomb,
    "link to zeros": link_to_zeros,
    "truncated": truncated,
    "bzip2": npz(X, Y, zipfile.ZIP_BZIP2),
    "lzma": npz(X, Y, zipfile.ZIP_LZMA),
    "not an array": npz(b"no array at all", Y),
    "pickled": npz(npy(np.array([[Evil()]] * 4, dtype=object)), Y),
    "pickled labels": npz(X, npy(np.array([Evil()] * 4, dtype=object))),
    "pickle in place of a zip": written("culprit.npz", npy(np.array([Evil()], dtype=object))),
    "a million million rows": npz(declared((10**12, 2)), Y),
    "more rows than numbers": npz(declared((10**30, 2)), Y),
    "a negative shape": npz(declared((-4, 2)), Y),
    "rows of nothing": npz(declared((10**12, 0), values=b""), declared((10**12, 0), values=b"")),
    "a shape that is no shape": npz(declared("(4,'a')"), Y),
    "a header that never closes": npz(declared("(" * 100), Y),
    "a type of its own": npz(declared((4, 2), "|V10000000"), Y),
    "complex features": npz(npy(np.ones((4, 2), complex)), Y),
    "more labels than rows": npz(X, npy(np.arange(5) % 2)),
    "one label for all": npz(X, npy(np.array(1))),
    "an empty zip": written("culprit.npz", b"PK\x05\x06" + b"\0" * 18),
    "an empty npz": written("culprit.npz", b""),
    "an empty csv": written("culprit.csv", b""),
    "blank lines": written("culprit.csv", b"\n\n\n"),
    "an empty parquet": written("culprit.parquet", b""),
    "a parquet of its marks": written("culprit.parquet", b"PAR1" + b"\xff\xff\xff\x7f" + b"PAR1"),
    "a long field": written("culprit.csv", b"u,v,y\n1," + b"7" * 200_000 + b",0\n"),
    "a long name": written("culprit.csv", b"u" * 200_000 + b",y\n1,0\n"),
    "a long label": written("culprit.csv", FOUR % (b"a" * 100_000)),
    "a quote without end": written("culprit.csv", b'u,y\n1,"' + b"1,0\n" * 100_000),
    "bytes of zero": written("culprit.csv", b"u,y\n1,\x000\n"),
    "not utf-8": written("culprit.csv", "u,y\n1,\u00e9\n".encode("latin-1")),
    "utf-16": written("culprit.csv", "u,y\n1,0\n".encode("utf-16")),
    "utf-16 without a mark": written("culprit.csv", "u,y\n1,0\n".encode("utf-16-le")),
    "labels of 10^9": written("culprit.csv", FOUR % b"1000000000"),
    "labels of 10^12": written("culprit.csv", FOUR % b"1000000000000"),
    "labels of 2^63 - 1": written("culprit.csv", FOUR % b"9223372036854775807"),
    "labels beyond 64 bits": written("culprit.csv", FOUR % b"18446744073709551616"),
    "labels of 5000 digits": written("culprit.csv", FOUR % (b"9" * 5000)),
    "negative labels": written("culprit.csv", FOUR % b"-9223372036854775809"),
    "unsigned labels": npz(X, npy(np.full(4, 2**64 - 1, np.uint64))),
    "large labels": npz(X, npy(np.full(4, 10**9))),
    "a folder": lambda folder: (folder / "culprit.csv").mkdir(),
    "a pipe": lambda folder: os.mkfifo(folder / "culprit.csv"),
    "a pipe of arrays": lambda folder: os.mkfifo(folder / "culprit.npz"),
    "a pipe of columns": lambda folder: os.mkfifo(folder / "culprit.parquet"),
    "a link to nowhere": lambda folder: (folder / "culprit.csv").symlink_to(folder / "nowhere"),
    "a link to itself": lambda folder: (folder / "culprit.csv").symlink_to(folder / "culprit.csv"),
}
