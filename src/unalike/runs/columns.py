"""Columnar storage of measurements, to and from rows of a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count, repeat

import numpy as np
from numpy.typing import ArrayLike

from ..errors import RunError
from ..typing import Array, Fields, Float64s, Int64s

Columns = dict[str, Array]


def client_rows(round: int, clients: Mapping[str, ArrayLike]) -> Iterator[tuple[object, ...]]:
    """(round, name, position, client, value) for every client and measure; positions keep the given order."""
    ids = np.asarray(clients["client"]).tolist()
    measures = {name: np.asarray(column, dtype=float) for name, column in clients.items() if name != "client"}
    for name, column in measures.items():
        if column.shape != (len(ids),):
            raise RunError(f"column {name!r} has shape {column.shape}, but there are {len(ids)} clients.")
    return chain.from_iterable(
        zip(repeat(round), repeat(name), count(), ids, column.tolist(), strict=False)
        for name, column in measures.items()
    )


def client_columns(rows: Iterable[tuple[str, int, int | str, float | None]]) -> Columns:
    """Rows (name, position, client, value) as a column `client` and one per measure; NaN where there is none.

    >>> client_columns([("loss", 0, "ann", 0.5), ("loss", 1, "bob", 0.25), ("size", 1, "bob", 9.0)])
    {'client': array(['ann', 'bob'], dtype='<U3'), 'loss': array([0.5 , 0.25]), 'size': array([nan,  9.])}
    """
    measured: dict[str, list[tuple[int, float | None]]] = {}
    ids: dict[int, int | str] = {}
    for name, position, client, value in rows:
        measured.setdefault(name, []).append((position, value))
        ids[position] = client
    positions = np.array(sorted(ids), dtype=np.int64)
    names = np.array([ids[position] for position in positions.tolist()])
    return {"client": names, **{name: align(pairs, positions) for name, pairs in measured.items()}}


def round_columns(rows: Iterable[tuple[int, str, float | None]], rounds: Int64s) -> Columns:
    """Rows (round, name, value) as one column per name, sorted by name."""
    measured: dict[str, list[tuple[int, float | None]]] = {}
    for round, name, value in rows:
        measured.setdefault(name, []).append((round, value))
    return {name: align(measured[name], rounds) for name in sorted(measured)}


def align(pairs: list[tuple[int, float | None]], keys: Int64s) -> Float64s:
    """Values at sorted `keys`, NaN where there is none.

    >>> align([(2, 0.5)], np.array([1, 2]))
    array([nan, 0.5])
    """
    column = np.full(len(keys), np.nan)
    table = np.array(pairs, dtype=float).reshape(-1, 2)  # None, which is how SQLite keeps NaN, becomes NaN
    column[np.searchsorted(keys, table[:, 0].astype(np.int64))] = table[:, 1]
    return column


def event_row(round: int, event: Fields) -> tuple[object, ...]:
    """(round, kind, client, the rest as JSON)."""
    detail = {key: value for key, value in event.items() if key not in ("round", "kind", "client")}
    return round, str(event["kind"]), plain(event.get("client")), json.dumps(detail, default=plain)


def plain(value: object) -> object:
    """A NumPy scalar or array as Python's own numbers and lists, other strange things as text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value if value is None or isinstance(value, int | float | str) else str(value)


def group_rows(round: int, groups: Mapping[str, Array]) -> list[tuple[int, str, str, bytes]]:
    """(round, name, kind, numbers) for every group; whole numbers take four bytes each."""
    kinds = {
        name: "<f8" if np.issubdtype(group.dtype, np.floating) else "<i4" for name, group in groups.items()
    }
    return [(round, name, kinds[name], group.astype(kinds[name]).tobytes()) for name, group in groups.items()]


def group_numbers(kind: str, numbers: bytes) -> Array:
    """The inverse of one row of :func:`group_rows`.

    >>> group_numbers("<i4", np.array([7], "<i4").tobytes())
    array([7])
    """
    if kind not in ("<i4", "<f8"):
        raise RunError(f"the record holds numbers of the unknown kind {kind!r}.")
    return np.frombuffer(numbers, kind).astype(np.int64 if kind == "<i4" else np.float64)
