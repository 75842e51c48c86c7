"""Nearest neighbors search.

The exact answer, found in two passes. The squared distances of all pairs come from one matrix product,

    |q - x|^2 = |q|^2 + |x|^2 - 2 <q, x>,

which is fast but loses digits where q is near x. So it only names candidates: all rows that could be among
the k nearest given the product's largest possible error. Their distances are computed again from
differences, which makes duplicates exactly 0, and equal distances are ordered by insertion. FAISS (Johnson,
Douze, Jegou, "Billion-scale similarity search with GPUs", 2019) finds the candidates of large stores.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.extras import import_extra, is_installed
from ..errors import ConfigError, unknown
from ..typing import Float32s, Int64s

METHODS = ("auto", "exact", "faiss")
LARGE = 20_000
"""Rows from which on `auto` uses FAISS, where it is installed."""
SPARE = 8
"""Candidates beyond k that are looked at together with the others."""
BLOCK_NUMBERS = 1 << 22
"""Distances computed at a time."""
UNIT = 2.0**-24
"""The relative error of one operation in single precision."""


class Neighbors(NamedTuple):
    """The nearest rows of every query, nearest first: their distances and their places in the store."""

    distances: Float32s
    rows: Int64s


def search(keys: Float32s, queries: Float32s, k: int, method: str = "auto") -> Neighbors:
    """The k nearest keys of every query by Euclidean distance (all keys, where there are fewer than k).

    >>> search(np.array([[0.0], [3.0], [1.0]]), np.array([[0.9]]), 2).rows
    array([[2, 0]])
    """
    if k < 1:
        raise ConfigError(f"k must be at least 1, but is {k}.")
    if method not in METHODS:
        raise unknown("search method", method, METHODS)
    keys, queries = (np.ascontiguousarray(a, np.float32) for a in (keys, queries))
    k = min(k, len(keys))
    if not len(queries) or not k:
        return Neighbors(np.zeros((len(queries), k), np.float32), np.zeros((len(queries), k), np.int64))
    if method == "auto":
        method = "faiss" if len(keys) >= LARGE and is_installed("faiss") else "exact"
    return _faiss(keys, queries, k) if method == "faiss" else _exact(keys, queries, k)


def search_others(keys: Float32s, k: int, method: str = "auto") -> Neighbors:
    """The k nearest *other* rows of every row: what leave-one-out needs."""
    found = search(keys, keys, k + 1, method)
    if not len(keys):
        return found
    mine = found.rows == np.arange(len(keys))[:, None]
    # Among many equal rows a row need not be one of its own nearest; then the last one found is too many.
    mine[:, -1] |= ~mine.any(axis=1)
    shape = (len(keys), found.rows.shape[1] - 1)
    return Neighbors(found.distances[~mine].reshape(shape), found.rows[~mine].reshape(shape))


def _exact(keys: Float32s, queries: Float32s, k: int) -> Neighbors:
    # Distances do not change with the origin, but the product's error does: the center is the best one.
    center = keys.mean(axis=0)
    near, far = keys - center, queries - center
    lengths = np.einsum("ij,ij->i", near, near)
    width = max(1, BLOCK_NUMBERS // len(keys))
    parts = []
    for first in range(0, len(queries), width):
        block = slice(first, first + width)
        squares = lengths - 2 * (far[block] @ near.T)  # without |q|^2, which changes no order
        slack = _largest_error(lengths, far[block])
        parts.append(_nearest(keys, queries[block], squares, slack, k))
    return Neighbors(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _largest_error(lengths: Float32s, queries: Float32s) -> Float32s:
    """How far a squared distance by products can be from the true one."""
    longest = np.sqrt(lengths.max()) + np.linalg.norm(queries, axis=1)
    return ((queries.shape[1] + 8) * UNIT * longest**2).astype(np.float32)


def _nearest(keys: Float32s, queries: Float32s, squares: Float32s, slack: Float32s, k: int) -> Neighbors:
    """The k nearest rows, from approximate squared distances and their error."""
    width = min(k + SPARE, len(keys))
    chosen = np.argpartition(squares, width - 1, axis=1)[:, :width] if width < len(keys) else None
    if chosen is None:
        everyone = np.broadcast_to(np.arange(len(keys)), squares.shape)
        return _by_differences(keys, queries, everyone, k)
    best = np.partition(np.take_along_axis(squares, chosen, axis=1), k - 1, axis=1)[:, k - 1]
    possible = squares <= (best + 2 * slack)[:, None]
    distances, rows = _by_differences(keys, queries, chosen, k)
    for i in np.flatnonzero(possible.sum(axis=1) > width):
        more = _by_differences(keys, queries[i : i + 1], np.flatnonzero(possible[i])[None], k)
        distances[i], rows[i] = more.distances[0], more.rows[0]
    return Neighbors(distances, rows)


def _by_differences(keys: Float32s, queries: Float32s, candidates: Int64s, k: int) -> Neighbors:
    """The k nearest of some candidates, by distances without cancellation; ties by place."""
    candidates = np.sort(candidates, axis=1)
    width = max(1, BLOCK_NUMBERS // max(1, candidates.shape[1] * keys.shape[1]))
    distances = np.concatenate(
        [_distances(keys, queries, candidates, slice(i, i + width)) for i in range(0, len(queries), width)]
    )
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return Neighbors(
        np.take_along_axis(distances, order, axis=1), np.take_along_axis(candidates, order, axis=1)
    )


def _distances(keys: Float32s, queries: Float32s, candidates: Int64s, part: slice) -> Float32s:
    gaps = keys[candidates[part]] - queries[part, None, :]
    return np.sqrt(np.einsum("qcd,qcd->qc", gaps, gaps))


def _faiss(keys: Float32s, queries: Float32s, k: int) -> Neighbors:
    """Candidates by a flat index; where ties or errors may reach beyond them, the exact search."""
    center = keys.mean(axis=0)
    near, far = keys - center, queries - center
    width = min(k + SPARE, len(keys))
    squares, candidates = _flat_index(near).search(far, width)
    found = _by_differences(keys, queries, candidates.astype(np.int64), k)
    if width == len(keys):
        return found
    # Everything within twice the error of the k-th distance must be among the candidates.
    slack = _largest_error(np.einsum("ij,ij->i", near, near), far)
    doubtful = np.flatnonzero(squares[:, -1] <= found.distances[:, -1] ** 2 + 2 * slack)
    if len(doubtful):
        again = _exact(keys, queries[doubtful], k)
        found.distances[doubtful], found.rows[doubtful] = again
    return found


def _flat_index(keys: Float32s) -> Any:
    faiss = import_extra("faiss", "faiss", "search method 'faiss'", hint=", or use 'exact'")
    index = faiss.IndexFlatL2(keys.shape[1])
    index.add(keys)
    return index
