"""Data placement on devices.

Either all rows of the federation stay on every device (`Resident`), and where a stream says which of them a
client holds, the plan lists these; or the rows of the round's clients are gathered (`GatheredRows`), where a
federation does not fit or a stream changes the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakValueDictionary

import jax
import numpy as np
from jax.sharding import Mesh
from numpy.typing import NDArray

from ...data.arrays import ALIGNMENT, aligned_empty
from ...data.federation import Split
from ...data.streams import Selection
from ...typing import Array, ClientIds, Int64s, Leaf
from .batches import power_of_two, round_up
from .devices import everywhere
from .layout import Layout


class PlacedRows(NamedTuple):
    """Arrays for a program and, per place of the layout, where a client's rows start."""

    x: Leaf
    y: Leaf
    weights: Leaf
    start: NDArray[np.int32]
    held: NDArray[np.int32] | None = None
    """The rows of each place's client (zeros past its last one), where they are not next to each other."""
    held_weights: NDArray[np.float32] | None = None
    """What each of them weighs; 1 when None."""


class Resident:
    """All rows of a split on every device. On a CPU the devices share one copy where JAX allows it."""

    gathered = False

    def __init__(self, split: Split, mesh: Mesh) -> None:
        self._offsets = split.offsets
        self._rows = [on_devices(array, mesh) for array in (split.x, split.y)]

    def place(self, clients: ClientIds, layout: Layout, selection: Selection | None = None) -> PlacedRows:
        """Nothing moves: only the starts, or the numbers of the rows that are held, are looked up."""
        x, y = (rows.placed for rows in self._rows)
        if selection is None:
            return PlacedRows(x, y, None, layout.arrange(self._offsets[clients]).astype(np.int32))
        held = layout.arrange(side_by_side(selection.rows.astype(np.int32), selection.offsets))
        chosen = selection.weights
        weights = None if chosen is None else layout.arrange(side_by_side(chosen, selection.offsets))
        return PlacedRows(x, y, None, np.zeros(len(layout.place), np.int32), held, weights)


class GatheredRows:
    """The rows of the round's clients, copied together for each core."""

    gathered = True

    def __init__(self, split: Split, cores: int) -> None:
        self._split, self._cores = split, cores

    def place(self, clients: ClientIds, layout: Layout, selection: Selection | None = None) -> PlacedRows:
        """Copy the clients' rows, core by core, to one array of equal pieces."""
        chosen = selection or whole(self._split, clients)
        width = len(layout.place) // self._cores
        sizes = np.diff(chosen.offsets)
        starts = np.zeros(len(layout.place), np.int32)
        pieces: list[Int64s] = []
        for core, count in enumerate(layout.taken):
            hand = layout.place[core * width : core * width + count]
            starts[core * width : core * width + count] = np.cumsum(sizes[hand]) - sizes[hand]
            pieces.append(_concatenate([np.arange(chosen.offsets[i], chosen.offsets[i + 1]) for i in hand]))
        length = round_up(max(len(piece) for piece in pieces))
        index = np.concatenate([np.pad(piece, (0, length - len(piece))) for piece in pieces])
        weights = chosen.weights
        if weights is not None:  # without any rows, all of it is padding
            weights = weights[index] if len(weights) else np.zeros(len(index), np.float32)
        return PlacedRows(*chosen.read(self._split, index), weights, starts)


@dataclass(frozen=True, eq=False)
class OnDevices:
    """An array, and the same on all devices, which may be the very same memory."""

    array: Array
    placed: jax.Array


_PLACED: WeakValueDictionary[tuple[int, Mesh], OnDevices] = WeakValueDictionary()
"""By the array's identity, which it keeps for as long as the entry lives."""


def on_devices(array: Array, mesh: Mesh) -> OnDevices:
    """The array on all devices; trainings that go on at the same time share what lies there."""
    found = _PLACED.get((id(array), mesh))
    if found is None:
        found = OnDevices(array, jax.device_put(align(array), everywhere(mesh)))
        _PLACED[id(array), mesh] = found
    return found


def align(array: Array) -> Array:
    """The array, copied once if need be to where all devices of a CPU can share it instead of copying it
    each."""
    if array.ctypes.data % ALIGNMENT == 0 and array.flags.c_contiguous:
        return array
    copy = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def side_by_side(values: Array, offsets: Int64s) -> Array:
    """Each client's values in a line of their own, filled up with zeros to one of a few lengths.

    >>> side_by_side(np.array([5, 6, 7]), np.array([0, 1, 3]))
    array([[5, 0],
           [6, 7]])
    """
    sizes = np.diff(offsets)
    lines = np.zeros((len(sizes), power_of_two(int(sizes.max(initial=1)))), values.dtype)
    lines[np.arange(lines.shape[1]) < sizes[:, None]] = values
    return lines


def whole(split: Split, clients: ClientIds) -> Selection:
    """All rows of these clients."""
    sizes = split.sizes[clients]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.repeat(split.offsets[clients] - offsets[:-1], sizes) + np.arange(offsets[-1])
    return Selection(rows, offsets)


def _concatenate(parts: list[Int64s]) -> Int64s:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
