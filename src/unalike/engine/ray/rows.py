"""Rows of clients in Ray's object store.

As arrays, each worker only those of its own clients; or, where the federation is mapped from files, as the
files' names, and every machine reads its own rows from the file system that it shares with this one.
"""

from __future__ import annotations

import mmap
import platform
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...data.federation import Federation, Split
from ...data.train_test_split import PARTS
from ...errors import DataError
from ...typing import Array, ClientIds, Int64s, Keywords
from ..base import Part, Setting
from ..local.rows import align
from ..shards import part_stream


class OnDisk(NamedTuple):
    """An array that is a piece of a file."""

    path: str
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype

    def open(self) -> Array:
        """The array, mapped from this machine's file of that name."""
        size = self.offset + int(np.prod(self.shape)) * self.dtype.itemsize
        if not (file := Path(self.path)).is_file() or file.stat().st_size < size:
            raise DataError(
                f"{platform.node()} cannot read {self.path!r} (it is missing or too short there); put the "
                "federation on a file system that all machines share, or load it with mmap=False."
            )
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape).view(np.ndarray)


class ShardRows(NamedTuple):
    """What a worker is sent of the federation."""

    federation: Federation
    """Its clients only; or everyone, with :class:`OnDisk` in the place of arrays."""
    everyone: bool
    part: Part
    """Which clients are the worker's, and what they are in the whole."""
    offsets: Int64s | None = None
    """Where clients' rows begin in the whole federation, if a stream speaks of these."""


def on_disk(array: Array) -> OnDisk | None:
    """The file of which the array is a map, if it is one that only reads.

    >>> on_disk(np.zeros(3)) is None
    True
    """
    whole = array if isinstance(array, np.memmap) else array.base
    if not isinstance(whole, np.memmap) or whole.mode != "r" or not isinstance(whole.base, mmap.mmap):
        return None
    same = (whole.ctypes.data, whole.shape, whole.strides, whole.dtype)
    if (array.ctypes.data, array.shape, array.strides, array.dtype) != same or not array.flags.c_contiguous:
        return None
    return OnDisk(str(Path(str(whole.filename)).absolute()), int(whole.offset), array.shape, array.dtype)


def pack(setting: Setting, clients: ClientIds) -> ShardRows:
    """What the worker of some clients is sent."""
    whole = setting.federation
    part = Part(clients, whole.importance[clients], setting.most_rows())
    rows = replace(whole, given_importance=None)  # the part knows; a shard's shares would mean nothing
    offsets = None if setting.stream is None else whole.train.offsets
    if on_disk(rows.train.x) is None:
        return ShardRows(rows.subset(clients), False, part, offsets)
    return ShardRows(_each_array(rows, lambda array: on_disk(array) or array), True, part, offsets)


def unpack(setting: Setting, rows: ShardRows) -> Setting:
    """The setting of a worker's clients, with rows in its own memory; `setting` lacks only the federation."""
    federation, everyone, (numbers, importance, largest, _), offsets = rows
    if everyone:
        opened = _each_array(federation, lambda a: a.open() if isinstance(a, OnDisk) else a)
        federation = opened.subset(numbers)
    part = Part(np.array(numbers), np.array(importance), largest)
    stream = None if offsets is None else part_stream(setting.stream, part.numbers, np.array(offsets))
    return setting._replace(federation=_each_array(federation, own_copy), part=part, stream=stream)


def own_copy(array: Array) -> Array:
    """The array in this process' own memory, where XLA can use it in place; the store's copy can go."""
    return align(array if array.flags.owndata else np.array(array))


def _each_array(federation: Federation, change: Callable[[Array], Any]) -> Federation:
    splits: Keywords = {name: _each(getattr(federation, name), change) for name in PARTS}
    return replace(federation, **splits)


def _each(split: Split, change: Callable[[Array], Any]) -> Split:
    return Split(change(split.x), change(split.y), np.array(split.offsets))
