"""TensorFlow Federated's (TFF) HDF5 files: arrays by user.

One file per part, examples/USER/NAME, with `pixels` and `label`, or `snippets` of text.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ...errors import DataError
from ...typing import Fields
from .files import reading

_TFF = "TensorFlow Federated's examples/USER/NAME"


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
