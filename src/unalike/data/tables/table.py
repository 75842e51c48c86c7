"""Tables: named columns of numbers or strings, with missing values.

A number column is an array of 64-bit floats in which a missing value is NaN; a text column is an array of
strings in which a missing value is the empty one. Nothing is standardized, coded or dropped here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...errors import DataError, unknown
from ...typing import Array
from ..dates import all_days, days_of_moments
from ..library_data import is_boolean, is_missing, is_nested
from ..missing_values import is_missing_word

Kind = Literal["numbers", "words", "empty"]


@dataclass(frozen=True, eq=False)
class Table:
    """One client's rows.

    >>> table = Table.of({"age": [61, 58, None], "sex": ["f", "m", "f"]})
    >>> len(table), table.kind("age"), table.kind("sex"), table.missing("age").tolist()
    (3, 'numbers', 'words', [False, False, True])
    """

    columns: Mapping[str, Array]

    def __post_init__(self) -> None:
        if len({len(column) for column in self.columns.values()}) > 1:
            raise DataError("the columns of a table must have the same length.")

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> Array:
        if name not in self.columns:
            raise unknown("column", name, list(self.columns))
        return self.columns[name]

    @classmethod
    def of(cls, columns: Mapping[str, Iterable[object]]) -> Table:
        """From lists, arrays or columns of a data frame."""
        return cls({str(name): _name_column(str(name), values) for name, values in columns.items()})

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called."""
        return tuple(self.columns)

    def kind(self, name: str) -> Kind:
        """Whether a column holds numbers, words, or nothing at all."""
        if self.missing(name).all():
            return "empty"
        return "numbers" if self[name].dtype == np.float64 else "words"

    def missing(self, name: str) -> Array:
        """Where a column has missing values."""
        column = self[name]
        return np.isnan(column) if column.dtype == np.float64 else column == ""

    def rows(self, chosen: Array) -> Table:
        """Only some rows, by number or by mask."""
        return Table({name: column[chosen] for name, column in self.columns.items()})

    def with_days(self) -> Table:
        """Columns of dates as numbers, days since 1970, as training has them.

        >>> Table.of({"visit": ["1970-01-03", ""], "sex": ["f", "m"]}).with_days()["visit"].tolist()
        [2.0, nan]
        """
        worded = [name for name in self.names if self.kind(name) == "words"]
        days = {name: all_days(self[name].tolist()) for name in worded}
        return Table({**self.columns, **{name: one for name, one in days.items() if one is not None}})

    def only(self, names: Iterable[str]) -> Table:
        """Only some columns."""
        return Table({name: self[name] for name in names})


Tables = dict[str, Table]
"""The table of every client, by the client's name."""


def column_of(values: Iterable[object]) -> Array:
    """A column of numbers where everything that is there is a number, of words otherwise.

    >>> column_of(["1", "?", "2.5"]), column_of(["low", "", "high"])
    (array([1. , nan, 2.5]), array(['low', '', 'high'], dtype='<U4'))
    """
    given = values if isinstance(values, np.ndarray) else np.array(list(values), dtype=object)
    if given.ndim != 1:
        raise _several()
    if given.dtype.kind in "fiub":
        return given.astype(np.float64)
    if given.dtype.kind == "M":
        return days_of_moments(given)
    if given.dtype.kind == "m":
        return given / np.timedelta64(1, "D")
    rows = given.tolist()
    if is_boolean(rows):
        return np.array([np.nan if is_missing(value) else float(value) for value in rows], np.float64)
    words = [_word(value) for value in rows]
    try:
        return np.array([float(word) if word else np.nan for word in words], np.float64)
    except ValueError:
        return np.array(words, dtype=str)


def _name_column(name: str, values: Iterable[object]) -> Array:
    try:
        return column_of(values)
    except DataError as error:
        raise DataError(f"column {name!r} {error}") from None


def _word(value: object) -> str:
    """What a value is as a word, a missing value being the empty one."""
    if is_nested(value):
        raise _several()
    word = "" if is_missing(value) else str(value).strip()
    return "" if is_missing_word(word) else word


def _several() -> DataError:
    return DataError(
        "must have one number, word or date for each row, not lists, records or bytes; leave it out "
        "(drop=COLUMN), or give vectors and images as arrays, Federation.from_clients({name: (x, y)})."
    )
