"""Exact answers (counts and sums) to questions about a table that you own.

    columns    kinds, missing values, and the words that a word column holds, with their counts
    moments    of number columns: count, mean, sum of squares about the mean
    products   of several number columns, over rows without missing values: count, means, products about them
    bins       how many numbers lie between edges
    cells      how many rows have each pair of words

Nothing is suppressed here. What a node answers to others is in :mod:`..disclosure`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ...data.tables import Table
from ...errors import DataError, unknown
from ...typing import Array, Document, Float64s, Int64s
from .questions import Answer, Question

WITHHELD = -1
"""A count that a node suppresses."""
MOST_WORDS = 1_000
"""A word column with more different words is a name or a text, which is not counted."""
MOST_BINS = 10_000


def answer(table: Table, question: Question) -> Answer:
    """The exact answer of a table."""
    if question.kind not in ANSWERS:
        raise unknown("question", question.kind, list(ANSWERS))
    return ANSWERS[question.kind](table, question)


def tell_columns(table: Table, question: Question) -> Answer:
    """Every column's kind, its missing values, and the words in it."""
    factors = {str(name) for name in question.words.get("factors", ())} & set(table.names)
    table = Table({**table.columns, **{name: words_in(table, name) for name in factors}})
    told = {name: _column(table, name) for name in table.names}
    return Answer({"rows": len(table), "minimum_cell_count": 1, "columns": told})


def tell_moments(table: Table, question: Question) -> Answer:
    """Count, mean and sum of squares about the mean of number columns; a count of 0 where it is not told."""
    columns = [numbers(table, name) for name in column_names(question)]
    moments = [_moments(column[~np.isnan(column)]) for column in columns]
    return Answer({}, {"moments": np.array(moments).reshape(-1, 3)})


def tell_products(table: Table, question: Question) -> Answer:
    """Count, means and products about the means, over the rows in which no column has a missing value."""
    rows = np.column_stack([numbers(table, name) for name in column_names(question)])
    rows = rows[~np.isnan(rows).any(axis=1)]
    width = rows.shape[1]
    if not len(rows):
        return Answer({"count": 0}, {"means": np.zeros(width), "products": np.zeros((width, width))})
    means = rows.mean(axis=0)
    return Answer({"count": len(rows)}, {"means": means, "products": (rows - means).T @ (rows - means)})


def tell_bins(table: Table, question: Question) -> Answer:
    """How many numbers lie in (edge, next edge] of each column, and below and above all edges."""
    edges = question.arrays.get("edges")
    names = column_names(question)
    if edges is None or edges.ndim != 2 or len(edges) != len(names) or edges.shape[1] > MOST_BINS:
        raise DataError("a question for bins needs a row of edges for each column.")
    if not (np.diff(edges, axis=1) >= 0).all():
        raise DataError("edges of bins must go up.")
    counts = [_bin_counts(numbers(table, name), row) for name, row in zip(names, edges, strict=True)]
    return Answer({"minimum_cell_count": 1}, {"counts": np.array(counts)})


def tell_cells(table: Table, question: Question) -> Answer:
    """How many rows have each pair of words of two columns; words that are not asked for are not counted."""
    first, second = column_names(question)
    words = [category_names(question, which) for which in ("first", "second")]
    pairs = zip((first, second), words, strict=True)
    places = [category_positions(words_in(table, name), known) for name, known in pairs]
    known = (places[0] >= 0) & (places[1] >= 0)
    counts = np.zeros((len(words[0]), len(words[1])), np.int64)
    np.add.at(counts, (places[0][known], places[1][known]), 1)
    return Answer({}, {"counts": counts})


ANSWERS: Mapping[str, Callable[[Table, Question], Answer]] = {
    "columns": tell_columns,
    "moments": tell_moments,
    "products": tell_products,
    "bins": tell_bins,
    "cells": tell_cells,
}


def numbers(table: Table, name: str) -> Float64s:
    """A column of numbers; a column of missing values only is one, too."""
    if table.kind(name) == "words":
        raise DataError(f"column {name!r} is made of words, not of numbers.")
    return table[name] if table[name].dtype == np.float64 else np.full(len(table), np.nan)


def words_in(table: Table, name: str) -> Array:
    """A column as words; numbers are written as people would."""
    column = table[name]
    if column.dtype != np.float64:
        return column
    return np.array(["" if np.isnan(v) else f"{v:g}" for v in column.tolist()], dtype=str)


def column_names(question: Question) -> list[str]:
    """The columns that a question is about."""
    names = question.words.get("columns", ())
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise DataError("a question must list its columns by name.")
    return list(names)


def category_names(question: Question, which: str) -> list[str]:
    """The categories of the first or second column that a question is about."""
    names = question.words.get(which, ())
    if not isinstance(names, list | tuple) or len(names) > MOST_WORDS:
        raise DataError(f"a question must list at most {MOST_WORDS} categories of a column.")
    return [str(name) for name in names]


def _column(table: Table, name: str) -> Document:
    kind = table.kind(name)
    told: Document = {"kind": kind, "missing": int(table.missing(name).sum())}
    if kind != "words":
        return told
    words, counts = np.unique(table[name][~table.missing(name)], return_counts=True)
    if len(words) > MOST_WORDS:
        return {**told, "words": {}, "untold": len(words)}
    return {**told, "words": dict(zip(words.tolist(), counts.tolist(), strict=True)), "untold": 0}


def _moments(values: Float64s) -> tuple[float, float, float]:
    if not len(values):
        return 0.0, 0.0, 0.0
    mean = values.mean()
    return float(len(values)), float(mean), float(((values - mean) ** 2).sum())


def _bin_counts(values: Float64s, edges: Float64s) -> Int64s:
    place = np.searchsorted(edges, values[~np.isnan(values)], side="left")
    return np.bincount(place, minlength=len(edges) + 1).astype(np.int64)


def category_positions(column: Array, known: list[str]) -> Int64s:
    """The number of every row's word among the known ones; -1 for others."""
    places = {word: i for i, word in enumerate(known)}
    return np.array([places.get(word, -1) for word in column.tolist()], np.int64)
