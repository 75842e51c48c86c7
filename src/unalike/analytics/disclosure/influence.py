"""Leverage and effective number of rows: how much of a sum may come from one row?

The leverage of row i, x_i'(X'X)^-1 x_i, is the largest share (a'x_i)^2 / sum_j (a'x_j)^2 that any linear
combination a of the columns puts on it. Sums over a design of low leverage single out no row.
"""

from __future__ import annotations

import numpy as np

from ...typing import Array, Float64s, Int64s

_RANK = 1e-10
_SLACK = 1e-9


def largest_leverage(columns: Float64s, tolerance: float = _RANK) -> float:
    """The largest leverage of a row, by combinations that are not smaller than the tolerance.

    Columns are scaled to one, and the tolerance is not relative to the largest combination: repeated columns
    make that one larger, and would hide others behind it.
    """
    size = np.sqrt((columns**2).sum(axis=0))
    kept = columns[:, size > 0] / size[size > 0]
    if not kept.size:
        return 0.0
    left, values, _ = np.linalg.svd(kept, full_matrices=False)
    basis = left[:, values > tolerance]
    return float((basis**2).sum(axis=1).max(initial=0.0))


def largest_share_of_row(row_sets: Array) -> float:
    """The largest share of its squared weight that a combination of sums over row sets puts on one row.

    >>> everyone, but_one = np.ones(9, bool), np.arange(9) > 0
    >>> round(largest_share_of_row(np.array([everyone, but_one])), 6)
    1.0
    """
    patterns, sizes = np.unique(row_sets.astype(np.int8), axis=1, return_counts=True)
    atoms = patterns.T * np.sqrt(sizes)[:, None]
    left, values, _ = np.linalg.svd(atoms, full_matrices=False)
    basis = left[:, values > _RANK * max(float(values[0]), 1e-300)]
    return float(((basis**2).sum(axis=1) / sizes).max(initial=0.0))


def is_within(share: float, limit: float) -> bool:
    """Whether a share is at most a limit, up to rounding."""
    return share <= limit + _SLACK


def singles_out_rows(column: Float64s, minimum: int) -> bool:
    """Whether most rows share one value and fewer than `minimum` rows differ from it (a near-indicator)."""
    reach = float(np.ptp(column))
    if reach == 0:
        return False
    _, counts = np.unique(np.round((column - column.min()) / reach, 6), return_counts=True)
    most, rest = int(counts.max()), len(column) - int(counts.max())
    return most > rest and rest < minimum


def has_small_pair(first: Array, second: Array, minimum: int) -> bool:
    """Whether two indicators make a cell of fewer than `minimum` rows, zeros included."""
    both = int((first & second).sum())
    cells = (both, int(first.sum()) - both, int(second.sum()) - both, int((~first & ~second).sum()))
    return min(cells) < minimum


def effective_rows(weights: Float64s) -> float:
    """(sum w)^2 / sum w^2: over how many equal rows a weighted sum is as spread."""
    square = float((weights**2).sum())
    return float(np.abs(weights).sum()) ** 2 / square if square > 0 else 0.0


def indicator_columns(x: Float64s) -> Int64s:
    """The columns with two different values."""
    return np.array([j for j in range(x.shape[1]) if len(np.unique(x[:, j])) == 2], np.int64)
