"""Histograms: counts between edges, over all nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import DataError
from ...typing import Float64s, Int64s
from ..summary import Cell, Summary, SummaryTable
from .moments import ask_moments
from .questions import Nodes, Question, bins_of

BINS, WIDEST = 12, 30


@dataclass(frozen=True)
class Histogram:
    """How many rows lie in each bin (from, to]; those in wider bins of a node are not counted."""

    column: str
    edges: Float64s
    counts: Int64s
    """Below the first edge, between edges, above the last."""
    withheld: int

    def summary(self) -> Summary:
        """As a table with bars."""
        edges: list[Cell] = [None, *(float(edge) for edge in self.edges), None]
        most = max(int(self.counts.max()), 1)
        rows = tuple(
            (edges[i], edges[i + 1], int(n), ("#" * round(WIDEST * int(n) / most)).ljust(WIDEST))
            for i, n in enumerate(self.counts)
            if n or (edges[i] is not None and edges[i + 1] is not None)
        )
        words = f"{self.withheld} bins of single nodes are wider than these and not counted."
        table = SummaryTable(self.column, ("above", "to", "rows", ""), rows)
        return Summary(
            "Histogram", (("rows", int(self.counts.sum())),), (table,), (words,) if self.withheld else ()
        )


def count_in_bins(nodes: Nodes, column: str, bins: int = BINS) -> Histogram:
    """Counts in bins of round width that reach three standard deviations to both sides of the mean."""
    moments = ask_moments(nodes, [column])
    if not moments.count[0]:
        raise DataError(f"no node tells anything of column {column!r}.")
    std = float(np.nan_to_num(moments.std[0])) or 1.0
    width = _round_up(6 * std / bins)
    first = width * np.floor((moments.mean[0] - 3 * std) / width)
    return histogram(nodes, column, first + width * np.arange(bins + 2))


def histogram(nodes: Nodes, column: str, edges: Sequence[float] | Float64s) -> Histogram:
    """Counts between given edges over all nodes."""
    given = np.asarray(edges, np.float64)
    answers = nodes.ask(Question("bins", {"columns": [column]}, {"edges": given[None]}))
    total, outside = np.zeros(len(given) + 1, np.int64), 0
    for answer in answers.values():
        own, counts = bins_of(answer, 0, given)
        first = np.searchsorted(given, np.append(-np.inf, own), side="right")
        last = np.searchsorted(given, np.append(own, np.inf), side="left")
        np.add.at(total, last[first == last], counts[first == last])
        outside += int((first != last).sum())
    return Histogram(column, given, total, outside)


def _round_up(width: float) -> float:
    """The next of 1, 2, 5, 10, ... times a power of ten.

    >>> _round_up(0.3), _round_up(7.0)
    (0.5, 10.0)
    """
    power = 10.0 ** np.floor(np.log10(width))
    return float(next(power * step for step in (1, 2, 5, 10) if power * step >= width * (1 - 1e-12)))
