"""MNIST, Fashion-MNIST and CIFAR-10.

MNIST (LeCun et al., 1998), Fashion-MNIST (Xiao, Rasul and Vollgraf, 2017) and CIFAR-10 (Krizhevsky, 2009),
from a local `.npz` with arrays x_train, y_train, x_test, y_test of any length, or from their original
public files.
"""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import numpy as np

from ...typing import Array
from ..files.array_files import read_npz as read_arrays
from .files import Remote, download, local, reading
from .source import Source, source_registry

_ARRAYS = ("x_train", "y_train", "x_test", "y_test")
MNIST = Remote(
    "https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz",
    "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1",
)
CIFAR10 = Remote(
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
_FASHION = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
FASHION_MNIST = {
    "x_train": Remote(
        _FASHION + "train-images-idx3-ubyte.gz",
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
    ),
    "y_train": Remote(
        _FASHION + "train-labels-idx1-ubyte.gz",
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
    ),
    "x_test": Remote(
        _FASHION + "t10k-images-idx3-ubyte.gz",
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
    ),
    "y_test": Remote(
        _FASHION + "t10k-labels-idx1-ubyte.gz",
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    ),
}
FASHION_LABELS = (
    *("t-shirt", "trousers", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
)
CIFAR_LABELS = (
    *("aeroplane", "car", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "lorry"),
)


@source_registry.add("mnist")
def mnist() -> Source:
    """70,000 handwritten digits of 28x28 pixels, 10 classes."""
    path = local("mnist.npz") or download(MNIST, "mnist.npz")
    return _source(read_npz(path), None, "MNIST")


@source_registry.add("fashion_mnist")
def fashion_mnist() -> Source:
    """70,000 pieces of clothing of 28x28 pixels, 10 classes."""
    path = local("fashion_mnist.npz")
    if path is not None:
        return _source(read_npz(path), FASHION_LABELS, "Fashion-MNIST")
    files = {key: download(remote, "fashion_mnist.npz") for key, remote in FASHION_MNIST.items()}
    return _source({key: read_idx(file) for key, file in files.items()}, FASHION_LABELS, "Fashion-MNIST")


@source_registry.add("cifar10")
def cifar10() -> Source:
    """60,000 color photographs of 32x32 pixels, 10 classes."""
    path = local("cifar10.npz")
    arrays = read_npz(path) if path else read_cifar_archive(download(CIFAR10, "cifar10.npz"))
    return _source(arrays, CIFAR_LABELS, "CIFAR-10")


def read_npz(path: Path) -> dict[str, Array]:
    """The four arrays of a local file."""
    with reading(path, ", ".join(_ARRAYS)):
        arrays = read_arrays(path, _ARRAYS)
        return {name: arrays[name] for name in _ARRAYS}


def read_idx(path: Path) -> Array:
    """An array in the format of MNIST's first home: a magic number, the shape, then bytes."""
    raw = gzip.decompress(path.read_bytes())
    dimensions = raw[3]
    shape = np.frombuffer(raw, ">u4", dimensions, offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def read_cifar_archive(path: Path) -> dict[str, Array]:
    """CIFAR-10's binary archive: per image one byte of label, then 32x32 reds, greens and blues."""
    with tarfile.open(path) as archive:
        files = {Path(member.name).name: member for member in archive.getmembers() if member.isfile()}
        batches = {
            name: archive.extractfile(member) for name, member in files.items() if name.endswith(".bin")
        }
        records = {
            name: np.frombuffer(file.read(), np.uint8).reshape(-1, 3073)
            for name, file in batches.items()
            if file
        }
    train = np.concatenate([records[name] for name in sorted(records) if name.startswith("data_batch")])
    test = records["test_batch.bin"]
    return {
        "x_train": _channels_last(train),
        "y_train": train[:, 0],
        "x_test": _channels_last(test),
        "y_test": test[:, 0],
    }


def _channels_last(records: Array) -> Array:
    return np.ascontiguousarray(records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))


def _source(arrays: dict[str, Array], label_names: tuple[str, ...] | None, description: str) -> Source:
    x, x_test = (
        arrays[key] if arrays[key].ndim == 4 else arrays[key][..., None] for key in ("x_train", "x_test")
    )
    y, y_test = (arrays[key].ravel() for key in ("y_train", "y_test"))
    return Source(x, y, 10, x_test, y_test, label_names=label_names, description=description)
