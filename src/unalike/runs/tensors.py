"""Trees of arrays as safetensors files.

Files are safetensors: a JSON header and raw bytes, parsed without running any code. The header also holds a
BLAKE2 checksum over every name, type, shape, byte and word of metadata, so that a flipped bit is noticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr, tree_flatten_with_path, tree_unflatten
from safetensors import safe_open
from safetensors.numpy import save_file

from ..errors import RunError
from ..typing import Array, Leaf, PyTree
from .atomic import replacing

Tensors = dict[str, Array]
_CHECKSUM = "checksum"
_METADATA = "unalike"  # one key for all words: safetensors writes several in a random order
_INTEGERS = {"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}
_STORABLE = _INTEGERS | {"float16", "bfloat16", "float32", "float64", "complex64"}


class DamagedFileError(RunError):
    """A file that is truncated, altered, or not safetensors at all."""


def flatten(tree: PyTree) -> Tensors:
    """Every leaf under a name that spells the way to it.

    >>> sorted(flatten({"params": [{"w": np.ones(2), "b": np.zeros(1)}]}))
    ['params/0/b', 'params/0/w']
    """
    leaves = tree_flatten_with_path(tree)[0]
    tensors = {_name(path): _array(_name(path), leaf) for path, leaf in leaves}
    if len(tensors) < len(leaves):
        raise RunError("two leaves of the tree have the same name; use keys without '/'.")
    return tensors


def restore(template: PyTree, tensors: Mapping[str, Array]) -> PyTree:
    """The template's structure filled with stored tensors; each leaf is of the template's kind.

    >>> restore({"w": np.zeros(2), "n": 0}, {"w": np.ones(2), "n": np.asarray(7)})
    {'n': 7, 'w': array([1., 1.])}
    """
    leaves, structure = tree_flatten_with_path(template)
    names = [_name(path) for path, _ in leaves]
    for name in sorted(set(names) ^ set(tensors)):
        raise RunError(f"tensor {name!r} is {'missing' if name in names else 'not expected here'}.")
    filled = [_fit(name, leaf, tensors[name]) for name, (_, leaf) in zip(names, leaves, strict=True)]
    return tree_unflatten(structure, filled)


def save_tensors(path: str | Path, tree: PyTree, metadata: Mapping[str, str] | None = None) -> None:
    """Write a tree and words about it, equal bytes for equal trees; a failure leaves the previous file."""
    tensors = flatten(tree)
    words = dict(metadata or {})
    words[_CHECKSUM] = _checksum(tensors, words)
    with replacing(Path(path)) as temporary:
        save_file(tensors, temporary, metadata={_METADATA: json.dumps(words, sort_keys=True)})


def load_tensors(path: str | Path) -> tuple[Tensors, dict[str, str]]:
    """The tensors and the metadata of a file whose checksum holds."""
    tensors, words = _read(Path(path))
    if words.pop(_CHECKSUM, None) != _checksum(tensors, words):
        raise DamagedFileError(f"{path} is damaged: its checksum does not match its content.")
    return tensors, words


def _read(path: Path) -> tuple[Tensors, dict[str, str]]:
    if not path.is_file():
        raise RunError(f"there is no file {path}.")
    try:
        with safe_open(path, framework="np") as file:
            words = json.loads((file.metadata() or {}).get(_METADATA, "{}"))
            return {name: file.get_tensor(name) for name in file.keys()}, dict(words)  # noqa: SIM118
    except Exception as error:  # whatever a hostile file provokes, it is the file that is wrong
        raise DamagedFileError(f"{path} is damaged or not a safetensors file ({error}).") from error


def _checksum(tensors: Tensors, words: Mapping[str, str]) -> str:
    digest = hashlib.blake2b(digest_size=32)
    digest.update(json.dumps(sorted(words.items())).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(json.dumps([name, tensor.dtype.name, tensor.shape]).encode())
        digest.update(tensor.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _name(path: tuple[object, ...]) -> str:
    return keystr(path, simple=True, separator="/") or "value"


def _array(name: str, leaf: Leaf) -> Array:
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        raise RunError(f"{name!r} is a random key; store its data (jax.random.key_data) instead.")
    array = np.asarray(leaf)
    if array.dtype.name not in _STORABLE:
        raise RunError(f"{name!r} has type {array.dtype}, which a safetensors file cannot hold.")
    # Not np.ascontiguousarray, which turns a scalar into a vector of length one.
    return np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")


def _fit(name: str, leaf: Leaf, tensor: Array) -> Leaf:
    wanted = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
    if tuple(wanted.shape) != tensor.shape:
        raise RunError(f"tensor {name!r} has shape {tensor.shape}, but {tuple(wanted.shape)} is expected.")
    if np.dtype(wanted.dtype) != tensor.dtype:
        raise RunError(f"tensor {name!r} has type {tensor.dtype}, but {wanted.dtype} is expected.")
    if isinstance(leaf, jax.Array):
        return jax.numpy.asarray(tensor)
    return tensor if hasattr(leaf, "dtype") else tensor.item()
