"""CIFAR-100: images with labels of two levels.

A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009: a hundred classes in twenty
coarse ones, which the Pachinko allocation deals by (`--partition pachinko:0.1,10`).

From `cifar100.npz` with the arrays x_train, y_train, coarse_train, x_test, y_test and coarse_test, or from
the original `cifar-100-binary.tar.gz` (cs.toronto.edu/~kriz/cifar.html), in the folder of UNALIKE_DATA.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np

from ...errors import DataError
from ...typing import Array
from ..files.array_files import read_npz
from .files import local, reading, require_local
from .source import Source, source_registry

ARRAYS, ARCHIVE = "cifar100.npz", "cifar-100-binary.tar.gz"
_NAMES = tuple(f"{what}_{part}" for part in ("train", "test") for what in ("x", "y", "coarse"))
_WHERE = "or cifar-100-binary.tar.gz of cs.toronto.edu/~kriz/cifar.html"
_RECORD = 2 + 3 * 32 * 32


@source_registry.add("cifar100")
def cifar100() -> Source:
    """60,000 color photographs of 32x32 pixels, 100 classes in 20 coarse ones (for pachinko)."""
    archive = local(ARCHIVE)
    arrays = read_archive(archive) if archive else read_arrays(require_local(ARRAYS, _WHERE))
    coarse = np.concatenate([arrays["coarse_train"], arrays["coarse_test"]])
    if len(coarse) != len(arrays["y_train"]) + len(arrays["y_test"]):
        raise DataError(f"every picture of {ARRAYS} needs a coarse label beside its class.")
    return Source(
        arrays["x_train"],
        arrays["y_train"].astype(np.int32),
        100,
        arrays["x_test"],
        arrays["y_test"].astype(np.int32),
        coarse=coarse.astype(np.int32),
        description="CIFAR-100",
    )


def read_arrays(path: Path) -> dict[str, Array]:
    """The six arrays of a local file; labels may be columns."""
    with reading(path, ", ".join(_NAMES)):
        found = read_npz(path, _NAMES)
        return {name: found[name] if name.startswith("x") else found[name].ravel() for name in _NAMES}


def read_archive(path: Path) -> dict[str, Array]:
    """The binary archive: per image a byte of coarse label, one of class, then 32x32 reds, greens, blues."""
    with reading(path, "train.bin and test.bin"), tarfile.open(path) as archive:
        answer: dict[str, Array] = {}
        for part in ("train", "test"):
            member = next(m for m in archive.getmembers() if Path(m.name).name == f"{part}.bin")
            file = archive.extractfile(member)
            assert file is not None
            records = np.frombuffer(file.read(), np.uint8).reshape(-1, _RECORD)
            pictures = records[:, 2:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            answer |= {f"coarse_{part}": records[:, 0], f"y_{part}": records[:, 1]}
            answer[f"x_{part}"] = np.ascontiguousarray(pictures)
        return answer
