"""How is a CSV file read that may be of any size and shape?

A few thousand rows at a time: memory stays at eight bytes per number, however long the text of one field is.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np

from ...core.plain_files import check_plain_file
from ...errors import DataError
from ...typing import Array
from .agreement import Words
from .table_columns import numbers_of, targets_of

_TOGETHER = 4096  # rows of text in memory at once
_LONGEST_LINE = 1 << 26


def csv_header(path: Path) -> list[str]:
    """The names in the first line."""
    with _rows(path) as rows:
        return next(rows, [])


def read_csv(path: Path, header: Sequence[str], target: int) -> tuple[Array, Array | Words]:
    """Features and target, which is the column in place `target` of the header."""
    names = [name for place, name in enumerate(header) if place != target]
    features, words, known = [], list[str](), dict[str, str]()
    with _rows(path) as rows:
        next(rows, None)
        while together := list(itertools.islice(rows, _TOGETHER)):
            columns = _columns(path, together, len(header))
            words += [known.setdefault(word, word) for word in columns.pop(target)]
            numbers = [numbers_of(path, name, c) for name, c in zip(names, columns, strict=True)]
            features.append(np.stack(numbers, axis=1))
    if not words:
        raise DataError(f"client {path.stem!r}: {path.name} needs a header and at least one row.")
    return np.concatenate(features), targets_of(path.stem, words)


def csv_columns(path: Path, header: Sequence[str]) -> list[list[str]]:
    """All columns as text; a word that comes often is kept once."""
    found, known = [list[str]() for _ in header], dict[str, str]()
    with _rows(path) as rows:
        next(rows, None)
        while together := list(itertools.islice(rows, _TOGETHER)):
            for column, more in zip(found, _columns(path, together, len(header)), strict=True):
                column += [known.setdefault(word, word) for word in more]
    return found


@contextmanager
def _rows(path: Path) -> Iterator[Iterator[list[str]]]:
    check_plain_file(path, None)
    with path.open(newline="", encoding="utf-8-sig") as file:
        yield (row for row in csv.reader(_lines(file)) if row)


def _lines(file: TextIO) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE):
        if "\0" in line:
            raise ValueError("it holds bytes that are not text; save the table as CSV in UTF-8")
        if len(line) == _LONGEST_LINE:
            raise ValueError(f"it has a line of more than {_LONGEST_LINE:,} characters")
        yield line


def _columns(path: Path, rows: list[list[str]], width: int) -> list[tuple[str, ...]]:
    if any(len(row) != width for row in rows):
        raise DataError(f"client {path.stem!r}: {path.name} has rows with different numbers of columns.")
    return list(zip(*rows, strict=True))
