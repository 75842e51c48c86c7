"""What does a node tell of its table?  (Counts and sums, no cell of which is small.)

    columns    kinds, gaps, and the words that a word column holds, with their counts
    moments    of number columns: count, mean, sum of squares about the mean
    products   of several number columns, over rows without gaps: count, means, products about the means
    bins       how many numbers lie between edges
    cells      how many rows have each pair of words

A node's owner sets the smallest cell. Counts between 1 and one less than that are told as `WITHHELD`; means
and sums over fewer rows are not told at all. Nothing else leaves the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...data.tables import Table
from ...errors import DataError, unknown
from ...typing import Array, Float64s, Int64s
from .questions import Answer, Question

WITHHELD = -1
"""A count that is not told, because it is neither 0 nor large enough."""
MOST_WORDS = 1_000
"""A word column with more different words is a name or a text, which is not counted."""
MOST_BINS = 10_000


def answer(table: Table, question: Question, smallest_cell: int) -> Answer:
    """What a table says to a question, if no cell of it is smaller than that."""
    if question.kind not in ANSWERS:
        raise unknown("question", question.kind, list(ANSWERS))
    return ANSWERS[question.kind](table, question, smallest_cell)


def withhold(counts: Int64s, smallest_cell: int) -> Int64s:
    """Counts, of which small ones are not told.

    >>> withhold(np.array([0, 3, 7]), 5).tolist()
    [0, -1, 7]
    """
    return np.where((counts > 0) & (counts < smallest_cell), WITHHELD, counts)


def tell_columns(table: Table, question: Question, smallest_cell: int) -> Answer:
    """Every column's kind, its gaps, and the words in it that come often enough."""
    factors = {str(name) for name in question.words.get("factors", ())} & set(table.names)
    table = Table({**table.columns, **{name: words_in(table, name) for name in factors}})
    told = {name: _column(table, name, smallest_cell) for name in table.names}
    rows = int(withhold(np.array([len(table)]), smallest_cell)[0])
    return Answer({"rows": rows, "smallest_cell": smallest_cell, "columns": told})


def tell_moments(table: Table, question: Question, smallest_cell: int) -> Answer:
    """Count, mean and sum of squares about the mean of number columns; a count of 0 where it is not told."""
    columns = [numbers(table, name) for name in _names(question)]
    moments = [_moments(column[~np.isnan(column)], smallest_cell) for column in columns]
    return Answer({}, {"moments": np.array(moments).reshape(-1, 3)})


def tell_products(table: Table, question: Question, smallest_cell: int) -> Answer:
    """Count, means and products about the means, over the rows in which no column has a gap."""
    rows = np.column_stack([numbers(table, name) for name in _names(question)])
    rows = rows[~np.isnan(rows).any(axis=1)]
    width = rows.shape[1]
    if len(rows) < smallest_cell:
        return Answer({"count": 0}, {"means": np.zeros(width), "products": np.zeros((width, width))})
    means = rows.mean(axis=0)
    return Answer({"count": len(rows)}, {"means": means, "products": (rows - means).T @ (rows - means)})


def tell_bins(table: Table, question: Question, smallest_cell: int) -> Answer:
    """How many numbers lie in (edge, next edge] of each column, and below and above all edges."""
    edges = question.arrays.get("edges")
    names = _names(question)
    if edges is None or edges.ndim != 2 or len(edges) != len(names) or edges.shape[1] > MOST_BINS:
        raise DataError("a question for bins needs a row of edges for each column.")
    if not (np.diff(edges, axis=1) >= 0).all():
        raise DataError("edges of bins must go up.")
    counts = [_bin_counts(numbers(table, name), row) for name, row in zip(names, edges, strict=True)]
    told = withhold(np.array(counts), smallest_cell)
    return Answer({"smallest_cell": smallest_cell}, {"counts": told})


def tell_cells(table: Table, question: Question, smallest_cell: int) -> Answer:
    """How many rows have each pair of words of two columns; words that are not asked for are not counted."""
    first, second = _names(question)
    words = [[str(word) for word in question.words.get(which, ())] for which in ("first", "second")]
    pairs = zip((first, second), words, strict=True)
    places = [_places(words_in(table, name), known) for name, known in pairs]
    known = (places[0] >= 0) & (places[1] >= 0)
    counts = np.zeros((len(words[0]), len(words[1])), np.int64)
    np.add.at(counts, (places[0][known], places[1][known]), 1)
    return Answer({}, {"counts": withhold(counts, smallest_cell)})


ANSWERS: Mapping[str, Callable[[Table, Question, int], Answer]] = {
    "columns": tell_columns,
    "moments": tell_moments,
    "products": tell_products,
    "bins": tell_bins,
    "cells": tell_cells,
}


def numbers(table: Table, name: str) -> Float64s:
    """A column of numbers; a column of gaps only is one, too."""
    if table.kind(name) == "words":
        raise DataError(f"column {name!r} is made of words, not of numbers.")
    return table[name] if table[name].dtype == np.float64 else np.full(len(table), np.nan)


def words_in(table: Table, name: str) -> Array:
    """A column as words; numbers are written as people would."""
    column = table[name]
    if column.dtype != np.float64:
        return column
    return np.array(["" if np.isnan(v) else f"{v:g}" for v in column.tolist()], dtype=str)


def _names(question: Question) -> list[str]:
    return [str(name) for name in question.words.get("columns", ())]


def _column(table: Table, name: str, smallest_cell: int) -> dict[str, Any]:
    kind, gaps = table.kind(name), np.array([table.missing(name).sum()])
    told: dict[str, Any] = {"kind": kind, "missing": int(withhold(gaps, smallest_cell)[0])}
    if kind != "words":
        return told
    words, counts = np.unique(table[name][~table.missing(name)], return_counts=True)
    if len(words) > MOST_WORDS:
        return {**told, "words": {}, "untold": len(words)}
    often = counts >= smallest_cell
    kept = dict(zip(words[often].tolist(), counts[often].tolist(), strict=True))
    return {**told, "words": kept, "untold": int((~often).sum())}


def _moments(values: Float64s, smallest_cell: int) -> tuple[float, float, float]:
    if len(values) < smallest_cell or not len(values):
        return 0.0, 0.0, 0.0
    mean = values.mean()
    return float(len(values)), float(mean), float(((values - mean) ** 2).sum())


def _bin_counts(values: Float64s, edges: Float64s) -> Int64s:
    place = np.searchsorted(edges, values[~np.isnan(values)], side="left")
    return np.bincount(place, minlength=len(edges) + 1).astype(np.int64)


def _places(column: Array, known: list[str]) -> Int64s:
    """The number of every row's word among the known ones; -1 for others."""
    places = {word: i for i, word in enumerate(known)}
    return np.array([places.get(word, -1) for word in column.tolist()], np.int64)
