"""Sweeps of what historical clients count, at the three published shares of rows, beside Tables 4.3 to 4.5.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023): Fresh, Historical and Uniform, a
grid of weights between them ("Optimal" is the best of it), and Ours, by the printed c2/c1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..shared.summaries import printed_difference
from ..study import Claim, average
from .data import CELLS, FRACTIONS, TABLES, Cell

GRID = ("fixed:0.2", "fixed:0.5", "fixed:0.8")
"""What historical clients count inside; `fresh` is 0 and `historical` is 1."""
BASELINES = ("fresh", "historical", "uniform")
Marks = dict[str, list[float]]
"""Accuracies over seeds, in points, by strategy."""
MarksOf = Callable[[float, Sequence[str]], tuple[Marks, str]]
"""The accuracies of strategies at a share of historical rows, and a note."""


def sweep_claims(id: str, words: str, data: str, marks_of: MarksOf) -> Iterator[Claim]:
    """Ours beside the three baselines at every share, and how far two of them are behind the best.

    Args:
        id: of the claims.
        words: what the data are called here.
        data: which published table stands beside them.
        marks_of: what strategies reach.
    """
    cells, behind = CELLS[data], {"historical": list[float](), "uniform": list[float]()}
    for fraction, cell, table in zip(FRACTIONS, cells, TABLES, strict=True):
        ours = f"optimal:{cell.ratio}"
        marks, note = marks_of(fraction, ("fresh", "uniform", *GRID, "historical", ours))
        best = max(float(np.mean(values)) for values in marks.values())
        for name, gaps in behind.items():
            gaps.append(best - float(np.mean(marks[name])))
        place = f"{table}, {data}"
        yield report_claim(id, f"{words}, f = {fraction:g}", marks, ours, cell, place)
        yield ours_claim(id, f"{words}, f = {fraction:g}", marks, ours, cell, place, note)
    claim = f"{words}: historical behind the best falls with f"
    yield gap_claim(id, claim, data, "only_historical", behind["historical"], 0)
    claim = f"{words}: uniform behind the best is largest at f = 0.2"
    yield gap_claim(id, claim, data, "uniform", behind["uniform"], 1)


def report_claim(id: str, words: str, marks: Marks, ours: str, cell: Cell, place: str) -> Claim:
    """The accuracies of a row of the table, with the best of the grid.

    Args:
        id: of the claim.
        words: the data and f.
        marks: accuracies by strategy.
        ours: what Ours is called.
        cell: the published row.
        place: where it stands.
    """
    grid = max(float(np.mean(marks[name])) for name in (*GRID, "fresh", "historical"))
    means = [float(np.mean(marks[name])) for name in (*BASELINES, ours)]
    theirs = (cell.fresh, cell.only_historical, cell.uniform, cell.ours, cell.best)
    published, measured = (
        " / ".join(f"{value:.1f}" for value in values) for values in (theirs, [*means, grid])
    )
    line = f"{words}: accuracy of Fresh / Historical / Uniform / Ours / the best of the grid"
    return Claim(id, line, published, "reported", measured, True, hard=False, place=place)


def ours_claim(id: str, words: str, marks: Marks, ours: str, cell: Cell, place: str, note: str) -> Claim:
    """Ours is not below the three baselines.

    Args:
        id: of the claim.
        words: the data and f.
        marks: accuracies by strategy.
        ours: what Ours is called.
        cell: the published row.
        place: where it stands.
        note: how it was measured.
    """
    best = max(BASELINES, key=lambda name: float(np.mean(marks[name])))
    theirs = printed_difference(cell.ours, max(cell.fresh, cell.only_historical, cell.uniform))
    claim = f"{words}: Ours above the best of the three ({best}), points"
    values = [a - b for a, b in zip(marks[ours], marks[best], strict=True)]
    return average(id, claim, values, 0.0, published=theirs, place=place, hard=False, note=note)


def gap_claim(id: str, claim: str, data: str, name: str, gaps: Sequence[float], largest: int) -> Claim:
    """Where the gap to the best is largest; from the first one on it must fall.

    Args:
        id: of the claim.
        claim: what is claimed.
        data: whose table stands beside it.
        name: the published column that is behind.
        gaps: to the best, in points, by f.
        largest: the place of the largest gap.
    """
    holds = int(np.argmax(gaps)) == largest and (largest > 0 or gaps[0] > gaps[1] > gaps[2])
    theirs = [cell.best - getattr(cell, name) for cell in CELLS[data]]
    published, measured = (", ".join(f"{gap:.1f}" for gap in each) for each in (theirs, gaps))
    place = f"Tables 4.3 to 4.5, {data}"
    return Claim(id, claim, published, "as published", measured, holds, hard=False, place=place)
