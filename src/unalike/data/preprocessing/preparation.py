"""Preprocessing of tables, kept with the model: encoding, imputation and scaling.

    numbers, dates   (value - mean) / spread, a missing value is 0; beside it 1 where the value is missing
    words            one column per word, 1 where it is that word; one more for a missing value

A mark for missing values is there only where training rows had some. A preparation is plain data, so that it
can be sent to nodes, kept in a folder and read by other programs; nothing in it is run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from ...errors import DataError
from ...typing import Array, Document, Fields, Float32s
from ..dates import all_days, date_of
from ..files.agreement import spell
from ..tables.table import Table

VERSION = 1


@dataclass(frozen=True)
class CodedNumbers:
    """A column of numbers, or of dates as days."""

    name: str
    mean: float
    spread: float
    gaps: bool = False
    """Whether missing values have a column of their own."""
    dates: bool = False

    @property
    def kind(self) -> str:
        """What it holds."""
        return "dates" if self.dates else "numbers"

    @property
    def values(self) -> str:
        """What is known of its values, for a person."""
        if self.dates:
            return f"{date_of(self.mean)} ± {self.spread:.3g} days"
        return f"{self.mean:.4g} ± {self.spread:.3g}"

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called that it becomes."""
        return (self.name, f"{self.name} is missing") if self.gaps else (self.name,)

    def code(self, column: Array) -> Float32s:
        """The columns that it becomes, row by row."""
        values = self._values(column)
        missing = np.isnan(values)
        scaled = np.where(missing, 0.0, (values - self.mean) / self.spread)
        return np.stack([scaled, missing] if self.gaps else [scaled], axis=1).astype(np.float32)

    def original(self, coded: Array) -> list[str]:
        """The numbers that were coded, as text."""
        return [f"{value:.6g}" for value in coded[:, 0].astype(np.float64) * self.spread + self.mean]

    def _values(self, column: Array) -> Array:
        if column.dtype == np.float64:
            return column
        days = all_days(column.tolist())  # statistics of nodes have dates as numbers, too
        if days is None:
            kind = "dates such as 2024-05-31" if self.dates else "numbers"
            raise DataError(f"column {self.name!r} has words, but was trained with {kind}.")
        return days


@dataclass(frozen=True)
class CodedWords:
    """A column of words."""

    name: str
    words: tuple[str, ...]
    gaps: bool = False
    kind: ClassVar[str] = "words"

    @property
    def values(self) -> str:
        """What is known of its values, for a person."""
        return _some(self.words)

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called that it becomes."""
        return (*(f"{self.name}={word}" for word in self.words), *[f"{self.name} is missing"] * self.gaps)

    def code(self, column: Array) -> Float32s:
        """The columns that it becomes, row by row; a word that training rows did not have is nowhere 1."""
        wanted = (*self.words, "") if self.gaps else self.words
        places = {word: place for place, word in enumerate(wanted)}
        found = np.array([places.get(word, -1) for word in _as_words(column)], np.int64)
        return (found[:, None] == np.arange(len(wanted))).astype(np.float32)

    def original(self, coded: Array) -> list[str]:
        """The words that were coded; what is none of them is missing."""
        words = (*self.words, "missing")
        return [words[int(np.argmax(row))] if row[: len(self.words)].any() else "missing" for row in coded]

    def strange(self, column: Array) -> dict[str, int]:
        """Words that training rows did not have, and in how many rows they are."""
        counts = Counter(word for word in _as_words(column) if word and word not in set(self.words))
        return dict(sorted(counts.items()))


Coded = CodedNumbers | CodedWords


@dataclass(frozen=True)
class Preparation:
    """How each column of a table is coded, in order.

    >>> made = Preparation((CodedNumbers("age", 50.0, 10.0), CodedWords("sex", ("f", "m"))))
    >>> made.apply(Table.of({"sex": ["m", "f"], "age": [60, 50]})).tolist(), made.names
    ([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], ('age', 'sex=f', 'sex=m'))
    """

    columns: tuple[Coded, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What the features are called."""
        return tuple(name for column in self.columns for name in column.names)

    def apply(self, table: Table) -> Float32s:
        """The features of a table's rows; columns that the preparation does not know are passed over."""
        for column in self.columns:
            if column.name not in table:
                raise DataError(
                    f"the rows have no column {column.name!r}, which the model was trained with; they have "
                    f"{', '.join(table.names[:10])}."
                )
        coded = [column.code(table[column.name]) for column in self.columns]
        return np.concatenate(coded, axis=1) if coded else np.zeros((len(table), 0), np.float32)

    def original(self, name: str, features: Array) -> list[str] | None:
        """What a column held in rows of features, as text; None where there is no such column.

        >>> made = Preparation((CodedNumbers("age", 50.0, 10.0), CodedWords("sex", ("f", "m"))))
        >>> features = np.array([[1.0, 0.0, 1.0]])
        >>> made.original("sex", features), made.original("age", features), made.original("id", features)
        (['m'], ['60'], None)
        """
        first = 0
        for column in self.columns:
            if column.name == name:
                return column.original(features[:, first : first + len(column.names)])
            first += len(column.names)
        return None

    def remarks(self, table: Table) -> list[str]:
        """What a person should know of rows that are about to be prepared."""
        said = []
        for column in self.columns:
            strange = column.strange(table[column.name]) if isinstance(column, CodedWords) else {}
            if strange:
                rows = sum(strange.values())
                said.append(
                    f"column {column.name!r}: unknown in training: {', '.join(list(strange)[:5])} "
                    f"({rows:,} rows, taken as none of the known words)"
                )
        return said

    def explain(self) -> list[dict[str, str]]:
        """What was understood of each column, for a person."""
        return [
            {
                "column": column.name,
                "kind": column.kind,
                "values": column.values,
                "gaps": "marked" if column.gaps else "none",
                "becomes": _some(column.names),
            }
            for column in self.columns
        ]

    def as_dict(self) -> Document:
        """As plain data for a file."""
        kinds = {CodedNumbers: "numbers", CodedWords: "words"}
        return {
            "version": VERSION,
            "columns": [{"kind": kinds[type(column)], **asdict(column)} for column in self.columns],
        }

    @classmethod
    def of(cls, document: Any) -> Preparation:
        """From plain data that :meth:`as_dict` made; a `DataError` for anything else.

        >>> import json
        >>> made = Preparation((CodedWords("sex", ("f", "m")),))
        >>> Preparation.of(json.loads(json.dumps(made.as_dict()))) == made
        True
        """
        try:
            if document["version"] != VERSION:
                raise DataError(f"this preparation is of version {document['version']}, not {VERSION}.")
            return cls(tuple(_read(column) for column in document["columns"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"this is not a preparation of columns ({error}).") from None


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _read(document: Fields) -> Coded:
    name, gaps = str(document["name"]), bool(document["gaps"])
    if document["kind"] == "words":
        return CodedWords(name, tuple(str(word) for word in document["words"]), gaps)
    mean, spread = float(document["mean"]), float(document["spread"])
    if not (np.isfinite(mean) and np.isfinite(spread) and spread > 0):
        raise ValueError(f"column {name!r} has no sound mean and spread")
    return CodedNumbers(name, mean, spread, gaps, bool(document["dates"]))


def _as_words(column: Array) -> Sequence[str]:
    if column.dtype == np.float64:  # words that look like numbers where these rows are
        return ["" if value != value else f"{value:g}" for value in column]
    return [spell(word) for word in column.tolist()]
