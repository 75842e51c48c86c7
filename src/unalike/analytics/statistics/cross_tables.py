"""Cross tables of two categorical columns, and the test of independence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.stats

from ...errors import DataError
from ...typing import Int64s
from ..summary import Cell, Summary, SummaryTable
from .answers import WITHHELD
from .description import agree_on_columns
from .questions import Nodes, Question


@dataclass(frozen=True)
class CrossTable:
    """How many rows have each pair of words, over all nodes."""

    first: str
    second: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: Int64s
    withheld: int
    """Cells of single nodes that are not told, and not in the counts."""

    def test(self) -> tuple[float, float]:
        """Pearson's chi-square statistic of independence, and its p-value."""
        kept = self.counts[self.counts.sum(axis=1) > 0][:, self.counts.sum(axis=0) > 0]
        if min(kept.shape, default=0) < 2:
            return float("nan"), float("nan")
        found = scipy.stats.chi2_contingency(kept, correction=False)
        return float(found.statistic), float(found.pvalue)

    def summary(self) -> Summary:
        """As a table with the test below it."""
        statistic, p = self.test()
        body = tuple(_row(word, counts) for word, counts in zip(self.rows, self.counts, strict=True))
        table = SummaryTable(f"{self.first} by {self.second}", (self.first, *self.columns), body)
        notes = [f"Chi-square {statistic:.4g}, p = {p:.3g} (independence)."]
        if self.withheld:
            notes.append(f"{self.withheld} cells of single nodes are withheld and not counted.")
        return Summary("Cross table", (("rows", int(self.counts.sum())),), (table,), tuple(notes))


def cross_table(nodes: Nodes, first: str, second: str) -> CrossTable:
    """Counts of every pair of words of two columns."""
    agreed = agree_on_columns(nodes, [first, second])
    for name in (first, second):
        if agreed.kinds[name] != "words":
            raise DataError(f"a cross table counts words, but column {name!r} holds {agreed.kinds[name]}.")
    words = {which: list(agreed.words[name]) for which, name in (("first", first), ("second", second))}
    answers = nodes.ask(Question("cells", {"columns": [first, second], **words}))
    counts = np.array([answer.arrays["counts"] for answer in answers.values()])
    total = np.where(counts == WITHHELD, 0, counts).sum(axis=0)
    names = tuple(words["first"]), tuple(words["second"])
    return CrossTable(first, second, *names, total, int((counts == WITHHELD).sum()))


def _row(word: str, counts: Int64s) -> tuple[Cell, ...]:
    return (word, *(int(n) for n in counts))
