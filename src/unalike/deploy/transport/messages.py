"""Serialization of messages between server and nodes, and validation of what arrives.

A message is a kind, a few numbers and words, and named arrays. On the way it is Flower's `RecordDict` with a
`ConfigRecord` "about" and an `ArrayRecord` "arrays", whose arrays are raw little-endian bytes next to a type
and a shape. Flower sends every array in two requests of its own, so arrays that are small in all go together
in a `ConfigRecord` "small", each as its type and shape in a line and its bytes. Opening one reads bytes; it
never unpickles or executes anything, and sizes are checked before bytes are read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...errors import RunError, UnalikeError
from ...runs.tensors import flatten, restore
from ...typing import PyTree

if TYPE_CHECKING:
    from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

Number = int | float | str | bool

RAW = "raw"
MOST_ARRAYS = 10_000
MOST_NUMBERS = 10_000
DEFAULT_LIMIT = 2**30
SMALL = 2**20
"""Bytes of all arrays of a message that go together."""
_MOST_AXES = 32
_LONGEST_NAME = 1_000
_LONGEST_WORDS = 4_000_000
_TYPES = {
    name: np.dtype(name)
    for name in (
        *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
} | {"bfloat16": np.dtype(jnp.bfloat16)}


class MessageError(UnalikeError):
    """A message that cannot be sent, or one that arrived and must not be opened."""


@dataclass(frozen=True)
class WireMessage:
    """A kind, numbers (whole, real, words or yes/no), and arrays by name."""

    kind: str
    numbers: Mapping[str, Number] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def tree_to_arrays(tree: PyTree) -> dict[str, NDArray[Any]]:
    """Every leaf under a name that spells the way to it.

    >>> sorted(tree_to_arrays({"layer": [np.ones(2), np.zeros(1)]}))
    ['layer/0', 'layer/1']
    """
    try:
        return flatten(tree)
    except RunError as error:
        raise MessageError(str(error)) from error


def arrays_to_tree(template: PyTree, arrays: Mapping[str, NDArray[Any]]) -> PyTree:
    """The template's structure with these arrays; names, shapes and types must be the template's."""
    try:
        return restore(template, arrays)
    except RunError as error:
        raise MessageError(str(error)) from error


def arrays_to_vector(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """All entries of named arrays, in the order of names."""
    return np.concatenate([np.ravel(arrays[name]).astype(np.float64) for name in sorted(arrays)])


def vector_to_tree(template: PyTree, vector: NDArray[np.float64]) -> PyTree:
    """A vector of :func:`arrays_to_vector` as the template's tree, in the type of sums."""
    zeros = jax.tree.map(
        lambda leaf: np.zeros(leaf.shape, jnp.promote_types(leaf.dtype, jnp.float32)), template
    )
    arrays, begin = {}, 0
    for name, leaf in sorted(tree_to_arrays(zeros).items()):
        arrays[name] = vector[begin : begin + leaf.size].reshape(leaf.shape).astype(leaf.dtype)
        begin += leaf.size
    return arrays_to_tree(zeros, arrays)


def pack(wire_message: WireMessage, shared: dict[int, Array] | None = None, small: int = SMALL) -> RecordDict:
    """The message as Flower's record; arrays that several messages hold are converted once, by `shared`, and
    those of at most `small` bytes in all go together."""
    from flwr.app import ArrayRecord, ConfigRecord, RecordDict

    if "kind" in wire_message.numbers:
        raise MessageError("a message's number cannot be called 'kind'; the message itself has one.")
    _at_most("numbers", len(wire_message.numbers), MOST_NUMBERS)
    _at_most("arrays", len(wire_message.arrays), MOST_ARRAYS)
    numbers = {name: _number(name, value) for name, value in wire_message.numbers.items()}
    about = ConfigRecord({"kind": _words("kind", wire_message.kind), **numbers})
    if sum(np.asarray(array).nbytes for array in wire_message.arrays.values()) <= small:
        together = ConfigRecord(
            {name: _write_small(name, array) for name, array in wire_message.arrays.items()}
        )
        return RecordDict({"about": about, "small": together})
    shared = {} if shared is None else shared
    arrays = ArrayRecord()
    for name, array in wire_message.arrays.items():
        arrays[name] = _share_array(name, array, shared)
    return RecordDict({"about": about, "arrays": arrays})


def unpack(record: RecordDict, limit: int = DEFAULT_LIMIT) -> WireMessage:
    """The message in a record that arrived; what is not exactly a message within the limits is refused."""
    from flwr.app import ArrayRecord, ConfigRecord

    if set(record) not in ({"about", "arrays"}, {"about", "small"}):
        raise MessageError(
            "this is not a message of Unalike: it needs exactly the records 'about' and 'arrays'."
        )
    about, arrays = record["about"], record.get("arrays", record.get("small"))
    wanted = ArrayRecord if "arrays" in record else ConfigRecord
    if not isinstance(about, ConfigRecord) or not isinstance(arrays, wanted):
        raise MessageError("this is not a message of Unalike: 'about' must hold numbers and 'arrays' arrays.")
    kind, numbers = _about(about)
    if isinstance(arrays, ConfigRecord):
        return WireMessage(kind, numbers, _read_small(arrays, limit))
    _check_sizes(arrays, limit)
    return WireMessage(
        kind, numbers, {name: _read(name, a.dtype, a.shape, a.data) for name, a in arrays.items()}
    )


def declared_bytes(name: str, dtype: str, shape: tuple[int, ...]) -> int:
    """How many bytes an array of this type and shape has, if they are a type and a shape at all.

    >>> declared_bytes("w", "float32", (10, 3))
    120
    """
    if dtype not in _TYPES:
        raise MessageError(f"array {_short(name)} has type {_short(dtype)}; allowed: {', '.join(_TYPES)}.")
    if len(shape) > _MOST_AXES or not all(type(length) is int and length >= 0 for length in shape):
        raise MessageError(f"array {_short(name)} has an impossible shape.")
    return math.prod(shape) * _TYPES[dtype].itemsize


def check_limit(size: int, limit: int) -> None:
    """An error, if a message of this many bytes is too large."""
    if size > limit:
        raise MessageError(f"the message is too large: its arrays have more than {limit} bytes.")


def _number(name: str, value: object) -> Number:
    if len(_words("number's name", name)) > _LONGEST_NAME:
        raise MessageError(f"the name {_short(name)} of a number is too long.")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return _words(name, value)
    if not isinstance(value, bool | int | float):
        raise MessageError(
            f"number {_short(name)} is a {type(value).__name__}; allowed: int, float, str, bool."
        )
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise MessageError(f"number {_short(name)} does not fit in 64 bits.")
    return value


def _words(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_WORDS:
        raise MessageError(f"{_short(name)} must be a text of at most {_LONGEST_WORDS} characters.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise MessageError(f"{_short(name)} holds characters that cannot be sent.") from error
    return value


def _share_array(name: str, array: NDArray[Any], shared: dict[int, Array]) -> Array:
    """Arrays are recognized by identity, for the messages of one round hold the very same model."""
    if id(array) not in shared:
        shared[id(array)] = _write(name, array)
        # While the array lives, no other can have its identity; so it lives as long as what stands for it.
        shared[id(array)].__dict__["_source"] = array
    return shared[id(array)]


def _write(name: str, array: NDArray[Any]) -> Array:
    from flwr.app import Array

    plain, data = _raw(name, array)
    return Array(dtype=plain.dtype.name, shape=tuple(plain.shape), stype=RAW, data=data)


def _write_small(name: str, array: NDArray[Any]) -> bytes:
    plain, data = _raw(name, array)
    return json.dumps([plain.dtype.name, plain.shape]).encode() + b"\n" + data


def _raw(name: str, array: NDArray[Any]) -> tuple[NDArray[Any], bytes]:
    if len(_words("array's name", name)) > _LONGEST_NAME:
        raise MessageError(f"the name {_short(name)} of an array is too long.")
    plain = np.asarray(array)
    size = declared_bytes(name, plain.dtype.name, plain.shape)
    little = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
    data = little.tobytes()
    assert len(data) == size
    return plain, data


def _about(record: ConfigRecord) -> tuple[str, dict[str, Number]]:
    _at_most("numbers", len(record), MOST_NUMBERS + 1)
    content = {name: _number(name, value) for name, value in record.items()}
    kind = content.pop("kind", None)
    if not isinstance(kind, str):
        raise MessageError("this is not a message of Unalike: it does not say its kind.")
    return kind, content


def _check_sizes(arrays: ArrayRecord, limit: int) -> None:
    _at_most("arrays", len(arrays), MOST_ARRAYS)
    total = 0
    for name, array in arrays.items():
        if array.stype != RAW:
            raise MessageError(
                f"array {_short(name)} is serialized as {_short(array.stype)}; allowed: {RAW}."
            )
        total += _check_bytes(name, array.dtype, tuple(array.shape), array.data)
        check_limit(total, limit)


def _check_bytes(name: str, dtype: str, shape: tuple[int, ...], data: bytes) -> int:
    size = declared_bytes(name, dtype, shape)
    if size != len(data):
        raise MessageError(f"array {_short(name)} has {len(data)} bytes, but its shape needs {size}.")
    return size


def _read(name: str, dtype: str, shape: tuple[int, ...], data: bytes) -> NDArray[Any]:
    kind = _TYPES[dtype]
    if kind == np.bool_ and data.strip(b"\0\1"):
        raise MessageError(f"array {_short(name)} is of type bool, but holds other bytes than 0 and 1.")
    values = np.frombuffer(data, dtype=kind.newbyteorder("<")).reshape(shape)
    return values.astype(kind)  # a copy: what arrived is read-only


def _read_small(record: ConfigRecord, limit: int) -> dict[str, NDArray[Any]]:
    _at_most("arrays", len(record), MOST_ARRAYS)
    total, arrays = 0, {}
    for name, value in record.items():
        dtype, shape, data = _open_small_array(name, value)
        total += _check_bytes(name, dtype, shape, data)
        check_limit(total, limit)
        arrays[name] = _read(name, dtype, shape, data)
    return arrays


def _open_small_array(name: str, value: object) -> tuple[str, tuple[int, ...], bytes]:
    """The type, the shape and the bytes of an array."""
    line, _, data = value.partition(b"\n") if isinstance(value, bytes) else (b"", b"", b"")
    try:
        dtype, shape = json.loads(line) if len(line) <= _LONGEST_NAME else (None, None)
    except (ValueError, TypeError, RecursionError):
        dtype, shape = None, None
    if not isinstance(dtype, str) or not isinstance(shape, list) or len(name) > _LONGEST_NAME:
        raise MessageError(f"array {_short(name)} does not say its type and shape.")
    return dtype, tuple(shape), data


def _at_most(what: str, count: int, most: int) -> None:
    if count > most:
        raise MessageError(f"the message has {count} {what}; at most {most} are allowed.")


def _short(words: object) -> str:
    """A name from outside, made fit for one line of a log."""
    text = ascii(words)
    return text if len(text) <= 80 else text[:77] + "...'"
