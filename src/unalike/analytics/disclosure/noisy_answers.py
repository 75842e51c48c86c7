"""Differentially private answers about a table.

The owner gives the range of every number column and the categories of every text column; values outside are
moved to the nearest bound or are missing. So no answer depends on what the data happen to hold, and the
influence of one row on an answer is bounded:

    sums of products   |w|^2 <= 1 + columns for a row w = (1, columns scaled to [-1, 1]), and
                       |w w' - v v'|_F <= sqrt(2) max(|w|^2, |v|^2) for a row v in its place
    counts             a row in another cell changes two counts by one

Each answer has Gaussian noise (C. Dwork, K. Talwar, A. Thakurta and L. Zhang, "Analyze Gauss: Optimal Bounds
for Privacy-Preserving Principal Component Analysis", 2014), is drawn once and kept: the same question gets
the same answer. All answers together spend an (epsilon, delta) by the exact curve of the Gaussian mechanism.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...data.tables import Table
from ...errors import ConfigError, DataError
from ...privacy.accountant import charge_epsilon
from ...privacy.noise_calibration import release_noise
from ...typing import Array, Document, Float64s
from ..design import INTERCEPT
from ..formula import parse_formula
from ..model_matrix import Plan, complete_rows, matrix_of
from ..statistics.answers import WITHHELD, category_names, category_positions, column_names
from ..statistics.questions import Answer, Question
from .allowed_terms import check_terms
from .guard import MOST_COLUMNS
from .ledger import DisclosureLedger
from .policy import DisclosureError

Bounds = tuple[float, float] | tuple[str, ...]
"""The smallest and largest value of a number column, or the categories of a text column."""
_CATEGORY = re.compile(r"(C\()?(?P<column>[^\[\]()]+)\)?\[(T\.)?[^\[\]]*\]$")


@dataclass(frozen=True)
class NoisePolicy:
    """How much noise answers have.

    Args:
        epsilon: What all answers together may spend.
        delta: The probability beside it.
        releases: For how many different answers the budget is to suffice; more of them need more noise.
        bounds: The range or the categories of each column that is answered about.
        bin_edges: The edges of histograms, by column.
    """

    epsilon: float
    delta: float
    releases: int = 10
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    bin_edges: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.releases < 1:
            raise ConfigError(f"noise must be for at least one answer, got {self.releases}.")
        release_noise(self.epsilon, self.delta, self.releases)  # refuses numbers that are no budget
        for name, bounds in self.bounds.items():
            if _is_range(bounds) and not -np.inf < float(bounds[0]) < float(bounds[1]) < np.inf:
                raise ConfigError(f"the bounds of column {name!r} must be two increasing numbers.")

    @property
    def multiplier(self) -> float:
        """The deviation of the noise, in multiples of what one row can change."""
        return release_noise(self.epsilon, self.delta, self.releases)


class NoisyAnswers:
    """Answers questions about one table with noise.

    Args:
        table: The rows, which stay here.
        policy: The owner's budget and bounds.
        ledger: What was answered before.
    """

    minimum = 1

    def __init__(self, table: Table, policy: NoisePolicy, ledger: DisclosureLedger) -> None:
        self.policy, self.ledger = policy, ledger
        self.table = clip_table(table, policy.bounds)
        self._multiplier = policy.multiplier

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
            raise DisclosureError(f"this node answers no question about {question.kind!r} with noise.")
        names = column_names(question)
        if len(names) > MOST_COLUMNS:
            raise DisclosureError(f"a question is about at most {MOST_COLUMNS} columns.")
        if not names and question.kind != "columns":
            raise DisclosureError("a question must name its columns.")
        for name in names:
            self._check_bounds(name)
        return answers[question.kind](question)

    def model_products(self, plan: Plan) -> tuple[Float64s, list[str]]:
        """Noisy sums of products of a model's columns, and what the columns are: `1`, terms, the response.

        Args:
            plan: How the table becomes rows; it may hold columns, categories and their interactions.
        """
        formula = parse_formula(plan.formula)
        check_terms(formula)
        for name in sorted(formula.columns):
            self._check_bounds(name)
            if name in plan.words and set(plan.words[name]) != set(map(str, self.policy.bounds[name])):
                raise DisclosureError(f"the plan has other categories of column {name!r} than this node.")
        terms = [term for term in plan.terms if term != INTERCEPT]
        labels = ["1", *terms, formula.response]
        middles, halves = np.array([(0.0, 1.0), *map(self._range_of, labels[1:])]).T
        key = json.dumps(["model", plan.write()], sort_keys=True)

        def exact() -> Float64s:
            rows = complete_rows(self.table, plan)
            if not rows.any():
                return np.zeros((len(labels), len(labels)))
            made = matrix_of(self.table.rows(rows), plan)
            kept = [place for place, term in enumerate(plan.terms) if term != INTERCEPT]
            scaled = (np.column_stack([np.ones(len(made.y)), made.x[:, kept], made.y]) - middles) / halves
            return scaled.T @ scaled

        back = np.diag(halves)  # x = middle + half u, in matrix form
        back[:, 0] += middles
        return back @ self._noisy_products(key, exact, len(labels)) @ back.T, labels

    def _columns(self, question: Question) -> Answer:
        columns = {name: self._facts(name) for name in self.table.names}
        noise = {"epsilon": self.policy.epsilon, "delta": self.policy.delta}
        words = {"rows": len(self.table), "minimum_cell_count": 1, "columns": columns, "noise": noise}
        return Answer(words)

    def _facts(self, name: str) -> Document:
        bounds = self.policy.bounds[name]
        if _is_range(bounds):
            return {"kind": "numbers", "missing": WITHHELD}
        return {
            "kind": "words",
            "missing": WITHHELD,
            "words": dict.fromkeys(map(str, bounds), WITHHELD),
            "untold": 0,
        }

    def _moments(self, question: Question) -> Answer:
        found = [self._sums([name]) for name in column_names(question)]
        rows = [(n, means[0], max(products[0, 0], 0.0)) for n, means, products in found]
        return Answer({}, {"moments": np.array(rows, np.float64).reshape(-1, 3)})

    def _products(self, question: Question) -> Answer:
        n, means, products = self._sums(column_names(question))
        return Answer({"count": n}, {"means": means, "products": products})

    def _sums(self, names: list[str]) -> tuple[float, Float64s, Float64s]:
        """A noisy count of complete rows, means, and sums of products about the means."""
        bounds = [self.policy.bounds[name] for name in names]
        if not all(_is_range(one) for one in bounds):
            raise DataError(f"{', '.join(names)} must be columns of numbers.")
        low, high = np.array(bounds, np.float64).T
        middle, half = (low + high) / 2, (high - low) / 2

        def exact() -> Float64s:
            values = np.column_stack([self.table[name] for name in names])
            rows = (values[np.isfinite(values).all(axis=1)] - middle) / half
            whole = np.column_stack([np.ones(len(rows)), rows])
            return whole.T @ whole

        noisy = self._noisy_products(json.dumps(["products", sorted(names), names]), exact, 1 + len(names))
        count = max(noisy[0, 0], 1.0)
        means = noisy[0, 1:] / count
        products = (noisy[1:, 1:] - count * np.multiply.outer(means, means)) * np.multiply.outer(half, half)
        return float(count), middle + half * means, products

    def _noisy_products(self, key: str, exact: Callable[[], Float64s], width: int) -> Float64s:
        """Sums of products of rows of squared length at most `width`, with noise."""

        def draw() -> Float64s:
            upper = np.triu(system_noise(self._multiplier * np.sqrt(2) * width, (width, width)))
            return exact() + upper + np.triu(upper, 1).T

        return self._released(key, draw)

    def _bins(self, question: Question) -> Answer:
        arrays = dict[str, Array]()
        for place, name in enumerate(column_names(question)):
            edges = np.array(self.policy.bin_edges.get(name, ()), np.float64)
            values = self.table[name]
            if not len(edges):
                arrays |= {f"edges_{place}": edges, f"counts_{place}": np.zeros(1, np.int64)}
                continue
            if not _is_range(self.policy.bounds[name]):
                raise DataError(f"column {name!r} is made of words, not of numbers.")
            bins = np.searchsorted(edges, values[np.isfinite(values)], side="left")
            counts = np.bincount(bins, minlength=len(edges) + 1).astype(np.float64)
            arrays[f"edges_{place}"] = edges
            arrays[f"counts_{place}"] = self._noisy_counts(json.dumps(["bins", name, edges.tolist()]), counts)
        return Answer({"minimum_cell_count": 1}, arrays)

    def _cells(self, question: Question) -> Answer:
        names = column_names(question)
        if len(names) != 2:
            raise DataError("a question for cells needs two columns.")
        first, second = sorted(names)
        known = {name: [str(one) for one in self.policy.bounds[name]] for name in names}
        if any(_is_range(self.policy.bounds[name]) for name in names):
            raise DataError("a question for cells needs two columns of categories.")
        places = [category_positions(self.table[name], known[name]) for name in (first, second)]
        table = np.zeros((len(known[first]), len(known[second])))
        there = (places[0] >= 0) & (places[1] >= 0)
        np.add.at(table, (places[0][there], places[1][there]), 1)
        noisy = self._noisy_counts(json.dumps(["cells", first, second]), table)
        noisy = noisy if names[0] == first else noisy.T
        asked = [category_names(question, which) for which in ("first", "second")]
        cells = np.full((len(asked[0]), len(asked[1])), WITHHELD, np.int64)
        for i, row in enumerate(asked[0]):
            for j, column in enumerate(asked[1]):
                if row in known[names[0]] and column in known[names[1]]:
                    cells[i, j] = noisy[known[names[0]].index(row), known[names[1]].index(column)]
        return Answer({}, {"counts": cells})

    def _noisy_counts(self, key: str, counts: Float64s) -> Array:
        def draw() -> Float64s:
            noisy = counts + system_noise(self._multiplier * np.sqrt(2), counts.shape)
            return np.maximum(np.rint(noisy), 0.0)

        return self._released(key, draw).astype(np.int64)

    def _released(self, key: str, draw: Callable[[], Float64s]) -> Float64s:
        """The answer that was drawn before, or a new one if the budget allows it."""
        known = self.ledger.noisy_answer(key)
        if known is not None:
            return known
        policy, charge = self.policy, self._multiplier**-2
        if charge_epsilon(self.ledger.spent + charge, policy.delta) > policy.epsilon * (1 + 1e-9):
            raise DisclosureError(
                f"the privacy budget of this node (epsilon {policy.epsilon:g} at delta {policy.delta:g}) is "
                "used up; questions that were answered before are still answered."
            )
        drawn = draw()
        self.ledger.add_noisy_answer(key, drawn, charge)
        return drawn

    def _check_bounds(self, name: str) -> None:
        if name not in self.policy.bounds:
            raise DisclosureError(
                f"this node answers with noise, and its owner gave no bounds for column {name!r} "
                "(--column-bounds)."
            )

    def _range_of(self, term: str) -> tuple[float, float]:
        """The middle and half the width of a range that holds a term: a column, a category, or an interaction
        of them."""
        if _is_range(known := self.policy.bounds.get(term.strip("`"), ())):
            low, high = float(known[0]), float(known[1])
            return (low + high) / 2, (high - low) / 2
        bound = 1.0
        for part in term.split(":"):
            name = part.strip("`")
            if name in self.policy.bounds and _is_range(self.policy.bounds[name]):
                bound *= float(np.abs(np.array(self.policy.bounds[name], np.float64)).max())
            elif name not in self.policy.bounds and not _CATEGORY.match(part):
                raise DisclosureError(
                    f"with noise this node answers columns, categories and interactions, not {term!r}."
                )
        return 0.0, bound


def system_noise(deviation: float, shape: tuple[int, ...]) -> Float64s:
    """Gaussian noise from the system's entropy, new in every call and every process."""
    return np.random.default_rng(secrets.randbits(256)).normal(0.0, deviation, shape)


def clip_table(table: Table, bounds: Mapping[str, Bounds]) -> Table:
    """The columns that have bounds: numbers are moved into them, other categories are missing values."""
    columns = dict[str, Array]()
    for name, known in bounds.items():
        if name not in table:
            raise ConfigError(f"--column-bounds names {name!r}, which is no column of the table.")
        is_number = table.kind(name) != "words"
        if _is_range(known) != is_number:
            what = "a range such as 0..120" if is_number else "its categories, such as f,m"
            raise ConfigError(f"the bounds of column {name!r} must be {what}.")
        column = table[name]
        if is_number:
            columns[name] = np.clip(np.asarray(column, np.float64), float(known[0]), float(known[1]))
        else:
            columns[name] = np.where(np.isin(column, [str(one) for one in known]), column, "")
    return Table(columns)


def _is_range(bounds: Bounds) -> bool:
    return len(bounds) == 2 and all(isinstance(one, float) for one in bounds)
