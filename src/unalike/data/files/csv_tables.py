"""Reading CSV files of any size and shape, with limits.

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
from .agreement import StringLabels
from .text_columns import numbers_of, targets_of, words_of

_TOGETHER = 4096  # rows of text in memory at once
_LONGEST_LINE = 1 << 26


def csv_header(path: Path) -> list[str]:
    """The names in the first line."""
    with _rows(path) as rows:
        return next(rows, [])


def read_csv(path: Path, header: Sequence[str], target: int) -> tuple[dict[str, Array], Array | StringLabels]:
    """Features by name, numbers or words, and target, which is the column in place `target` of the header.

    Columns of words are read in a second pass, so that numbers are never kept as text.
    """
    numbers: dict[int, list[Array]] = {place: [] for place in range(len(header)) if place != target}
    labels, known = list[str](), dict[str, str]()
    for columns in _chunks(path, len(header)):
        labels += [known.setdefault(word, word) for word in columns[target]]
        for place in list(numbers):
            found = numbers_of(columns[place])
            if found is None:
                del numbers[place]
            else:
                numbers[place].append(found)
    if not labels:
        raise DataError(f"client {path.stem!r}: {path.name} needs a header and at least one row.")
    worded = [place for place in range(len(header)) if place != target and place not in numbers]
    words = dict(zip(worded, _words(path, len(header), worded), strict=True))
    features = {
        header[place]: np.concatenate(numbers[place]) if place in numbers else words_of(words[place])
        for place in range(len(header))
        if place != target
    }
    return features, targets_of(path.stem, labels)


def csv_columns(path: Path, header: Sequence[str]) -> list[list[str]]:
    """All columns as text; a word that comes often is kept once."""
    return _words(path, len(header), range(len(header)))


def _words(path: Path, width: int, places: Sequence[int]) -> list[list[str]]:
    """Some columns as text."""
    found, known = [list[str]() for _ in places], dict[str, str]()
    for columns in _chunks(path, width) if places else ():
        for column, place in zip(found, places, strict=True):
            column += [known.setdefault(word, word) for word in columns[place]]
    return found


def _chunks(path: Path, width: int) -> Iterator[list[tuple[str, ...]]]:
    """All columns, a few thousand rows at a time."""
    with _rows(path) as rows:
        next(rows, None)
        while together := list(itertools.islice(rows, _TOGETHER)):
            yield _columns(path, together, width)


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
