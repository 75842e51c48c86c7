"""Disclosure guard: a node's answers under its disclosure policy.

    columns    kinds, missing values, and the categories that are frequent enough
    moments    of number columns, unless one row dominates them
    products   of several number columns, under the same rule
    bins       one histogram per column, always the same: edges of the owner or round ones, small bins merged
    cells      one cross table per pair of columns, always the same, with complementary suppression

A question cannot choose rows, edges or categories: whatever is asked about the same columns gets the same
answer, so that answers cannot be subtracted from each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from ...data.tables import Table
from ...errors import DataError, unknown
from ...typing import Array, Document, Fields, Float64s, Int64s
from ..formula import columns_in, factor_expressions, parse_formula
from ..model_matrix import Matrix, Plan, factor_columns, matrix_of
from ..statistics.answers import (
    MOST_WORDS,
    category_names,
    category_positions,
    column_names,
    numbers,
    words_in,
)
from ..statistics.questions import Answer, Question
from .accumulation import Design, check_accumulated, expand_rows
from .influence import is_within, largest_leverage, singles_out_rows
from .ledger import DisclosureLedger
from .policy import DisclosureError, DisclosurePolicy
from .suppression import SUPPRESSED, merge_bins, suppress_table

MOST_COLUMNS = 200
"""Columns of one question."""


class DisclosureGuard:
    """Answers questions about one table.

    Args:
        table: The rows, which stay here.
        policy: The owner's limits.
        ledger: What was answered before.
    """

    def __init__(
        self,
        table: Table,
        policy: DisclosurePolicy | None = None,
        ledger: DisclosureLedger | None = None,
    ) -> None:
        self.table, self.policy = table, policy or DisclosurePolicy()
        self.ledger = ledger or DisclosureLedger(table)
        self._answered: list[Design] = []
        self._answered_of = 0
        """The reading of the ledger from which the designs are."""
        self.frequent_categories = cache(self._frequent_categories)

    @property
    def minimum(self) -> int:
        """The minimum cell count."""
        return self.policy.minimum_cell_count

    def answer(self, question: Question) -> Answer:
        """The answer to a question, or an error that names the rule."""
        answers: Mapping[str, Callable[[Question], Answer]] = {
            "columns": self._columns,
            "moments": self._moments,
            "products": self._products,
            "bins": self._bins,
            "cells": self._cells,
        }
        if question.kind not in answers:
            raise unknown("question", question.kind, list(answers))
        names = column_names(question)
        if not names and question.kind != "columns":
            raise DisclosureError("a question must name its columns.")
        if len(names) > MOST_COLUMNS or (len(set(names)) < len(names) and question.kind == "products"):
            raise DisclosureError(f"a question is about at most {MOST_COLUMNS} different columns.")
        return answers[question.kind](question)

    def charge(self, columns: list[str], question: str) -> None:
        """Count a question against the budget of its columns."""
        self.ledger.charge(columns, question, self.policy.maximum_questions)

    def accumulate(self, asked: Fields, rows: Array, design: Design) -> None:
        """Add a design to what was answered, or refuse it.

        Args:
            asked: What describes the design, as JSON.
            rows: The rows over which sums are answered.
            design: The design itself.
        """
        if self.ledger.has_design(asked, rows):
            return
        if self._answered_of != self.ledger.loaded:
            self._answered_of = self.ledger.loaded
            self._answered = [self.rebuild(old, chosen) for old, chosen in self.ledger.designs()]
        check_accumulated(self._answered, design, self.policy.maximum_leverage)
        self._answered.append(design)
        self.ledger.add_design(asked, rows)

    def rebuild(self, asked: Fields, rows: Array) -> Design:
        """A design from its description in the ledger."""
        if "products" in asked:
            return self.design_of_products(list(asked["products"]), rows)
        plan = Plan.read(asked["plan"])
        made = matrix_of(self.visible_table(plan).rows(rows), plan)
        return self.design_of_model(plan, made, rows)

    def design_of_products(self, names: list[str], rows: Array) -> Design:
        """The design of products of columns."""
        columns = np.column_stack([np.ones(int(rows.sum())), *(self.table[name][rows] for name in names)])
        return Design(frozenset(names), ("1", *names), expand_rows(columns, rows))

    def design_of_model(self, plan: Plan, matrix: Matrix, rows: Array) -> Design:
        """The design of a model, its response included."""
        formula = parse_formula(plan.formula)
        whole = expand_rows(np.column_stack([matrix.x, matrix.y]), rows)
        table = self.visible_table(plan).rows(rows)
        rests = dict[tuple[str, str], Float64s]()
        for factors in factor_expressions(formula):
            for name in formula.columns:
                rest = ":".join(factor for factor in factors if name not in columns_in(factor))
                if rest and any(name in columns_in(factor) for factor in factors):
                    rests[name, rest] = expand_rows(factor_columns(table, plan, rest), rows)
        inside = tuple((name, columns) for (name, _), columns in rests.items())
        return Design(formula.columns, (*plan.terms, formula.response), whole, inside)

    def visible_table(self, plan: Plan) -> Table:
        """The table of which rare categories are missing values where a plan takes categories."""
        names = [name for name in plan.words if name in self.table]
        return Table({**self.table.columns, **{name: self.categories(name) for name in names}})

    def categories(self, name: str) -> Array:
        """A column as categories, of which rare ones are missing values."""
        column = words_in(self.table, name)
        return np.where(np.isin(column, list(self.frequent_categories(name))), column, "")

    def _frequent_categories(self, name: str) -> dict[str, int]:
        column = words_in(self.table, name)
        values, counts = np.unique(column[column != ""], return_counts=True)
        if len(values) > MOST_WORDS:
            return {}
        often = counts >= self.minimum
        return dict(zip(values[often].tolist(), counts[often].tolist(), strict=True))

    def _columns(self, question: Question) -> Answer:
        factors = {str(name) for name in question.words.get("factors", ())}
        facts = {name: self._facts(name, name in factors) for name in self.table.names}
        rows = len(self.table) if len(self.table) >= self.minimum else SUPPRESSED
        return Answer({"rows": rows, "minimum_cell_count": self.minimum, "columns": facts})

    def _facts(self, name: str, is_factor: bool) -> Document:
        missing = int(self.table.missing(name).sum())
        shown = missing if missing == 0 or missing >= self.minimum else SUPPRESSED
        kind = self.table.kind(name)
        if kind != "words" and not is_factor:
            return {"kind": kind, "missing": shown}
        if is_factor:
            self.charge([name], "categories")
        counts = dict(self.frequent_categories(name))
        rare = len(self.table) - missing - sum(counts.values())
        if counts and (rare or shown == SUPPRESSED):  # the total would give the rest away
            counts[min(counts, key=lambda word: (counts[word], word))] = SUPPRESSED
        return {"kind": "words", "missing": shown, "words": counts, "untold": int(rare > 0)}

    def _moments(self, question: Question) -> Answer:
        moments = [self._moments_of(name) for name in column_names(question)]
        return Answer({}, {"moments": np.array(moments).reshape(-1, 3)})

    def _moments_of(self, name: str) -> tuple[float, float, float]:
        self.charge([name], "moments")
        values = self._released([name])
        if values is None:
            return 0.0, 0.0, 0.0
        mean = float(values.mean())
        return float(len(values)), mean, float(((values - mean) ** 2).sum())

    def _products(self, question: Question) -> Answer:
        names = column_names(question)
        self.charge(names, f"products {sorted(names)}")
        rows = self._released(names)
        if rows is None:
            width = len(names)
            return Answer({"count": 0}, {"means": np.zeros(width), "products": np.zeros((width, width))})
        means = rows.mean(axis=0)
        return Answer({"count": len(rows)}, {"means": means, "products": (rows - means).T @ (rows - means)})

    def _released(self, names: list[str]) -> Float64s | None:
        """Rows in which no column is missing, or None where their sums may not be answered."""
        rows = np.column_stack([numbers(self.table, name) for name in names])
        wanted = np.isfinite(rows).all(axis=1)
        if wanted.sum() <= max(self.minimum, len(names)):
            return None
        released = self.ledger.release(np.asarray(wanted), names, self.minimum)
        chosen = rows[released]
        design = np.column_stack([np.ones(len(chosen)), chosen - chosen.mean(axis=0)])
        dominated = not is_within(largest_leverage(design), self.policy.maximum_leverage)
        if dominated or any(singles_out_rows(column, self.minimum) for column in chosen.T):
            return None
        self.accumulate(
            {"products": sorted(names)}, released, self.design_of_products(sorted(names), released)
        )
        return chosen

    def _bins(self, question: Question) -> Answer:
        arrays = dict[str, Array]()
        for place, name in enumerate(column_names(question)):
            self.charge([name], "bins")
            arrays[f"edges_{place}"], arrays[f"counts_{place}"] = self._histogram(name)
        return Answer({"minimum_cell_count": self.minimum}, arrays)

    def _histogram(self, name: str) -> tuple[Float64s, Int64s]:
        column = numbers(self.table, name)
        wanted = ~np.isnan(column)
        if wanted.sum() < self.minimum:
            return np.zeros(0), np.zeros(1, np.int64)
        values = column[self.ledger.release(wanted, [name], self.minimum)]
        edges = np.array(self.policy.bin_edges.get(name, round_edges(values)), np.float64)
        counts = np.bincount(np.searchsorted(edges, values, side="left"), minlength=len(edges) + 1)
        return merge_bins(edges, counts.astype(np.int64), self.minimum)

    def _cells(self, question: Question) -> Answer:
        names = column_names(question)
        if len(names) != 2:
            raise DataError("a question for cells needs two columns.")
        self.charge(names, f"cells {sorted(names)}")
        known = {name: sorted(self.frequent_categories(name)) for name in names}
        first, second = sorted(set(names)) if names[0] != names[1] else names
        table = np.zeros((len(known[first]) + 1, len(known[second]) + 1), np.int64)
        places = [category_positions(self.categories(name), known[name]) for name in (first, second)]
        np.add.at(table, tuple(places), 1)  # rare categories and missing values are the last row and column
        shown = suppress_table(table, self.minimum) if first != second else self._diagonal(table)
        shown = shown if names[0] == first else shown.T
        asked = [category_names(question, which) for which in ("first", "second")]
        cells = np.full((len(asked[0]), len(asked[1])), SUPPRESSED, np.int64)
        for i, row in enumerate(asked[0]):
            for j, column in enumerate(asked[1]):
                if row in known[names[0]] and column in known[names[1]]:
                    cells[i, j] = shown[known[names[0]].index(row), known[names[1]].index(column)]
        return Answer({}, {"counts": cells})

    def _diagonal(self, table: Int64s) -> Int64s:
        """A column with itself: what `columns` answers, and zeros that everybody knows."""
        (name_counts,) = [np.diag(table)[:-1]]
        counts = name_counts.copy()
        if table[-1, -1] and len(counts):
            counts[counts.argmin()] = SUPPRESSED
        return np.diag(np.append(counts, SUPPRESSED))


def round_edges(values: Float64s) -> Float64s:
    """Multiples of a round width, the next of 1, 2, 5, 10, ... above half a standard deviation.

    >>> round_edges(np.array([1.0, 4.0, 7.0])).tolist()
    [2.0, 4.0, 6.0]
    """
    deviation = float(values.std())
    if not deviation > 0:
        return np.zeros(0)
    power = 10.0 ** np.floor(np.log10(deviation / 2))
    width = next(power * step for step in (1, 2, 5, 10) if power * step >= deviation / 2)
    center = width * np.round(values.mean() / width)
    grid = center + width * np.arange(-8, 9)
    return grid[(grid > values.min()) & (grid < values.max())]
