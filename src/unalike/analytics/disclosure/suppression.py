"""Primary and complementary cell suppression in frequency tables.

Cells below the minimum cell count are suppressed, zeros included: beside a suppressed cell, a published zero
discloses as much as a count. Whoever knows the margins could compute a lone suppressed cell, so further cells
are suppressed until the interval of counts that the published table allows is as wide as the minimum cell
count for every suppressed cell. The interval is found by linear programming (L. Cox, "Suppression Methodology
and Statistical Disclosure Control", 1980).
"""

from __future__ import annotations

import numpy as np
import scipy.optimize

from ...typing import Array, Float64s, Int64s

SUPPRESSED = -1
MOST_AUDITED = 200
"""Suppressed cells that are audited; a table with more of them is suppressed as a whole."""


def suppress_table(counts: Int64s, minimum: int) -> Int64s:
    """Counts of a cross table, with `SUPPRESSED` where a cell is small or would give a small one away.

    >>> suppress_table(np.array([[9, 1], [8, 7]]), 5).tolist()
    [[-1, -1], [-1, -1]]
    """
    hidden = counts < minimum
    everything = np.full_like(counts, SUPPRESSED)
    if not hidden.any():
        return counts
    while not hidden.all():
        if hidden.sum() > MOST_AUDITED:
            return everything
        weak = [tuple(cell) for cell in np.argwhere(hidden) if _width(counts, hidden, *cell) < minimum]
        if not weak:
            return np.where(hidden, SUPPRESSED, counts)
        hidden = _suppress_beside(counts, hidden, *weak[0])
    return everything


def feasibility_interval(counts: Int64s, hidden: Array, row: int, column: int) -> tuple[float, float]:
    """The least and largest count of one cell that agrees with all margins and the cells that are shown."""
    cells = np.argwhere(hidden)
    shown = np.where(hidden, 0, counts)
    rows, columns = counts.shape
    equations = np.zeros((rows + columns, len(cells)))
    equations[cells[:, 0], np.arange(len(cells))] = 1
    equations[rows + cells[:, 1], np.arange(len(cells))] = 1
    margins = np.concatenate([(counts - shown).sum(axis=1), (counts - shown).sum(axis=0)])
    goal = ((cells[:, 0] == row) & (cells[:, 1] == column)).astype(float)
    ends = [
        scipy.optimize.linprog(sign * goal, A_eq=equations, b_eq=margins, bounds=(0, None)).fun * sign
        for sign in (1, -1)
    ]
    return float(ends[0]), float(ends[1])


def merge_bins(edges: Float64s, counts: Int64s, minimum: int) -> tuple[Float64s, Int64s]:
    """Bins of which none has fewer than `minimum` values: small ones are merged with their neighbors.

    `counts` has one more entry than `edges`: those below the first and above the last edge are bins, too.

    >>> edges, counts = merge_bins(np.array([1.0, 2.0, 3.0]), np.array([2, 4, 7, 1]), 5)
    >>> edges.tolist(), counts.tolist()
    ([2.0], [6, 8])
    """
    kept, merged, pending = list[float](), list[int](), 0
    for edge, count in zip([*edges.tolist(), np.inf], counts.tolist(), strict=True):
        pending += count
        if pending >= minimum or edge == np.inf:
            merged.append(pending)
            kept.append(edge)
            pending = 0
    if len(merged) > 1 and merged[-1] < minimum:
        last = merged.pop()
        merged[-1] += last
        kept.pop(-2)
    return np.array(kept[:-1], np.float64), np.array(merged, np.int64)


def _width(counts: Int64s, hidden: Array, row: int, column: int) -> float:
    low, high = feasibility_interval(counts, hidden, row, column)
    return high - low + 1e-6


def _suppress_beside(counts: Int64s, hidden: Array, row: int, column: int) -> Array:
    """Suppress the smallest cell that is shown in the same row, and in the same column."""
    hidden = hidden.copy()
    before = hidden.sum()
    for place in (np.s_[row, :], np.s_[:, column]):
        line = np.where(hidden[place], np.iinfo(np.int64).max, counts[place])
        if not hidden[place].all():
            chosen = int(line.argmin())
            hidden[(row, chosen) if place[0] == row and place[1] == slice(None) else (chosen, column)] = True
    if hidden.sum() == before:
        rest = np.where(hidden, np.iinfo(np.int64).max, counts)
        hidden[np.unravel_index(int(rest.argmin()), counts.shape)] = True
    return hidden
