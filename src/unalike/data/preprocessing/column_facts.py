"""Column facts: counts, means and categories that clients report and that merge.

A client tells how many rows and missing values a column has, and of its training rows either the mean and
the sum of squared deviations, or which words it uses how often. Facts of several clients merge to those of
all their rows (:mod:`..merged_moments`) without anybody seeing a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal

import numpy as np

from ...errors import DataError
from ...typing import Array
from ..dates import all_days
from ..files.agreement import LONGEST_LABEL, spell
from ..merged_moments import RowMoments
from ..tables.table import Table

Kind = Literal["numbers", "dates", "words", "empty"]


@dataclass(frozen=True)
class ColumnFacts:
    """A column of some rows.

    >>> both = ColumnFacts.of(np.array([1.0, np.nan])).merged(ColumnFacts.of(np.array([3.0, 5.0])))
    >>> both.rows, both.gaps, both.mean, both.deviations
    (4, 1, 3.0, 8.0)
    """

    kind: Kind
    rows: int = 0
    gaps: int = 0
    mean: float = 0.0
    deviations: float = 0.0
    """The sum of squared deviations from the mean."""
    words: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, column: Array) -> ColumnFacts:
        """The facts of a column of numbers (missing: NaN) or of words (missing: empty)."""
        if column.dtype != np.float64:
            days = all_days(column.tolist())
            if days is None:
                return _of_words(column)
            found = _of_numbers(days)
            return found if found.kind == "empty" else cls("dates", *_numbers(found))
        return _of_numbers(column)

    @property
    def known(self) -> int:
        """Rows in which it is not missing."""
        return self.rows - self.gaps

    @property
    def spread(self) -> float:
        """The standard deviation, with the number of rows as divisor."""
        return float(np.sqrt(self.deviations / self.known)) if self.known else 0.0

    @property
    def moments(self) -> RowMoments:
        """Count, mean and squared deviations of the rows in which it is not missing."""
        return RowMoments(self.known, self.mean, self.deviations)

    def merged(self, other: ColumnFacts) -> ColumnFacts:
        """The facts of these rows and of others, whose kind must be the same or empty."""
        both = self.moments.merge(other.moments)
        return ColumnFacts(
            other.kind if self.kind == "empty" else self.kind,
            self.rows + other.rows,
            self.gaps + other.gaps,
            both.mean,
            both.products,
            Counter(self.words) + Counter(other.words),
        )


def facts_of(table: Table) -> dict[str, ColumnFacts]:
    """What a client tells of each of its columns."""
    return {name: ColumnFacts.of(column) for name, column in table.columns.items()}


def merge_facts(clients: Mapping[str, Mapping[str, ColumnFacts]]) -> dict[str, ColumnFacts]:
    """The facts of all clients' rows, by column; refused where clients mean different things by a column."""
    first = next(iter(clients.values()))
    for column in first:
        _check_kinds(column, {client: facts[column].kind for client, facts in clients.items()})
    return {column: _together(facts[column] for facts in clients.values()) for column in first}


def _together(facts: Iterable[ColumnFacts]) -> ColumnFacts:
    return reduce(ColumnFacts.merged, facts)


def _check_kinds(column: str, kinds: Mapping[str, Kind]) -> None:
    users: dict[Kind, str] = {}
    for client, kind in kinds.items():
        if kind != "empty":
            users.setdefault(kind, client)
    if len(users) > 1:
        (one, first), (other, second) = list(users.items())[:2]
        raise DataError(
            f"column {column!r} has {one} at client {first!r} but {other} at client {second!r}; write it in "
            f"one way, or leave it out with --drop {column}."
        )


def _of_numbers(column: Array) -> ColumnFacts:
    known = column[~np.isnan(column)]
    if not np.isfinite(known).all():
        raise DataError("a column has an infinite number; leave it empty or correct it.")
    if not len(known):
        return ColumnFacts("empty", len(column), len(column))
    mean, gaps = float(known.mean()), len(column) - len(known)
    return ColumnFacts("numbers", len(column), gaps, mean, float(((known - mean) ** 2).sum()))


def _of_words(column: Array) -> ColumnFacts:
    counts = Counter(spell(word) for word in column.tolist())
    gaps = counts.pop("", 0)
    longest = max(counts, key=len, default="")
    if len(longest) > LONGEST_LABEL:
        raise DataError(
            f"a column has a text of more than {LONGEST_LABEL} characters ({longest[:20]!r}...); leave it "
            "out with --drop COLUMN."
        )
    return ColumnFacts("words", len(column), gaps, words=dict(sorted(counts.items())))


def _numbers(facts: ColumnFacts) -> tuple[int, int, float, float]:
    return facts.rows, facts.gaps, facts.mean, facts.deviations
