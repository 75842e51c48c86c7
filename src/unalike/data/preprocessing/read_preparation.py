"""Reading a preprocessing from a file: of nodes, of statistics, or of a run.

Nodes of a deployment prepare their rows alike if each is given the same file: what `unalike serve
--statistics --json` printed of their columns, or the `clients.json` of a run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from ...core.plain_files import check_plain_file
from ...errors import DataError
from ...typing import Fields
from ..dates import days_of
from .column_facts import ColumnFacts
from .fit import fit_preparation
from .preparation import Preparation


def read_preparation(path: Path, columns: Sequence[str] | Callable[[str], bool]) -> Preparation:
    """The preparation of a file, for tables with these feature columns, or for those that are wanted."""
    try:
        check_plain_file(path)
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"the preparation {str(path)!r} cannot be read ({error}).") from None
    found = document.get("preparation", document) if isinstance(document, dict) else None
    if isinstance(found, dict) and isinstance(found.get("columns"), dict):
        told = found["columns"]
        chosen = [name for name in told if columns(name)] if callable(columns) else columns
        return fit_preparation({path.name: statistics_facts(told, chosen)})
    made = Preparation.of(found)
    names = [column.name for column in made.columns]
    strange = [] if callable(columns) else [name for name in names if name not in columns]
    if strange:
        raise DataError(
            f"the preparation {path.name} is of a column {strange[0]!r}, which is no feature here."
        )
    return made


def statistics_facts(told: Fields, columns: Sequence[str]) -> dict[str, ColumnFacts]:
    """What printed statistics say of some columns.

    >>> told = {"age": {"kind": "numbers", "missing": 1, "count": 9, "mean": 50, "std": 2}}
    >>> statistics_facts(told, ["age"])
    {'age': ColumnFacts(kind='numbers', rows=10, gaps=1, mean=50.0, deviations=32.0, words={})}
    """
    for column in columns:
        if not isinstance(told.get(column), dict):
            raise DataError(f"the statistics do not speak of column {column!r}; leave it out with --drop.")
    try:
        return {column: _parse_facts(column, told[column]) for column in columns}
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"these are not statistics of columns ({error}).") from None


class _MissingCategoriesError(Exception):
    """A column of words of which none was told."""


def _parse_facts(column: str, told: Fields) -> ColumnFacts:
    try:
        return _facts(told)
    except _MissingCategoriesError:
        raise DataError(
            f"the statistics tell no word of column {column!r}, because each is in too few rows; leave it "
            f"out with --drop {column}."
        ) from None


def _facts(told: Fields) -> ColumnFacts:
    gaps = abs(int(told["missing"]))  # a number that is withheld is negative, and means some
    if told["kind"] == "numbers":
        known, mean, std = int(told["count"]), float(told["mean"]), float(told["std"])
        return ColumnFacts("numbers", known + gaps, gaps, mean, std**2 * max(known - 1, 0))
    words = {str(word): int(count) for word, count in told.get("words", {}).items()}
    if not words and told["kind"] == "words":
        raise _MissingCategoriesError
    days = {days_of(word): count for word, count in words.items()}
    known = sum(words.values())
    if words and None not in days:
        mean = sum(day * count for day, count in days.items() if day is not None) / known
        spread = sum((day - mean) ** 2 * count for day, count in days.items() if day is not None)
        return ColumnFacts("dates", known + gaps, gaps, mean, spread)
    return ColumnFacts("words" if words else "empty", known + gaps, gaps, words=words)
