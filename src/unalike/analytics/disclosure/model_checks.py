"""Disclosure rules for design matrices: which models does a node fit for others?

The design must single out no row (leverage), no category and no pair of categories, the response included,
may have few rows, and a plan cannot choose rows by leaving out categories. Where nonlinear models are
evaluated is in :mod:`.newton_rounds`, on which rows a step works in :mod:`.full_batches`.
"""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np

from ...data.tables import Table
from ..formula import parse_formula
from ..model_matrix import Matrix, Plan, complete_rows, matrix_of, why_no_rows
from .allowed_terms import check_terms
from .guard import DisclosureGuard
from .influence import has_small_pair, indicator_columns, is_within, largest_leverage, singles_out_rows
from .policy import DisclosureError, DisclosurePolicy

_CATEGORY = re.compile(r"(?P<column>.*)\[(?P<word>[^\[\]]*)\]$")
_FAR = 100.0
"""Ranges of a column between its values and a mean that a plan may give it."""


def disclose_matrix(guard: DisclosureGuard, plan: Plan) -> Matrix:
    """The rows that a plan makes of the table, checked by every rule; refused with the rule's name."""
    formula = parse_formula(plan.formula)
    check_terms(formula)
    names = sorted(formula.columns)
    table = guard.table
    for name in names:
        table[name]  # an unknown column is an error
    guard.charge(names, f"model {plan.formula}")
    for name in (name for name in names if name in plan.words):
        if not set(guard.frequent_categories(name)) <= set(plan.words[name]):
            raise DisclosureError(
                f"the plan leaves out categories of column {name!r} that this node has; a question cannot "
                "choose rows."
            )
    visible = guard.visible_table(plan)
    wanted = complete_rows(visible, plan)
    if not wanted.any():
        raise DisclosureError(f"{why_no_rows(visible, plan)} of this node.")
    if plan.missing == "refuse" and not wanted.all():
        raise DisclosureError(f"rows have missing values in {', '.join(names)}.")
    check_size(int(wanted.sum()), plan, guard.policy)
    _check_moments(visible.rows(wanted), plan)
    rows = guard.ledger.release(wanted, names, guard.minimum)
    made = matrix_of(visible.rows(rows), plan)
    check_matrix(made, plan, guard.policy)
    _check_empty_cells(made, plan, guard)
    guard.accumulate({"plan": plan.write()}, rows, guard.design_of_model(plan, made, rows))
    return Matrix(made.x, made.y, len(table) - int(rows.sum()))


def _check_moments(table: Table, plan: Plan) -> None:
    """Refuse means far from all values: beside a large constant, leverage would be lost in rounding."""
    for name, (mean, _) in plan.moments.items():
        if name not in table or table.kind(name) == "words":
            continue
        values = table[name].astype(np.float64)
        least, most = float(values.min()), float(values.max())
        if most > least and not least - _FAR * (most - least) <= mean <= most + _FAR * (most - least):
            raise DisclosureError(
                f"the plan centers column {name!r} far from its values at this node; use the column as it is."
            )


def check_size(rows: int, plan: Plan, policy: DisclosurePolicy) -> None:
    """Raise where a model has too few rows."""
    least = max(policy.minimum_cell_count, len(plan.terms) + 1)
    if rows < least:
        raise DisclosureError(f"this node has fewer than {least} rows for {plan.formula!r}.")


def check_matrix(matrix: Matrix, plan: Plan, policy: DisclosurePolicy) -> Matrix:
    """The same rows; refused where sums over them would single out fewer rows than may be disclosed."""
    check_size(len(matrix.y), plan, policy)
    minimum = policy.minimum_cell_count
    columns = np.column_stack([matrix.x, matrix.y])
    pairs = [(j, columns[:, j] == columns[:, j].max()) for j in indicator_columns(columns)]
    crossed = [(a, b) for (i, a), (j, b) in combinations(pairs, 2) if not _same_factor(plan, i, j)]
    small = any(singles_out_rows(column, minimum) for column in columns.T)
    if small or any(has_small_pair(a, b, minimum) for a, b in crossed):
        raise DisclosureError(
            f"{plan.formula!r} tells fewer than {minimum} rows of this node apart (minimum cell count); "
            "leave out or merge rare categories."
        )
    if not is_within(largest_leverage(matrix.x), policy.maximum_leverage):
        raise DisclosureError(
            f"{plan.formula!r} gives one row of this node a leverage above {policy.maximum_leverage:g}; use "
            "fewer terms, or the log of a skewed column."
        )
    return matrix


def _check_empty_cells(matrix: Matrix, plan: Plan, guard: DisclosureGuard) -> None:
    """Refuse an interaction of categories that this node has, and that no row has together."""
    for place, term in enumerate(plan.terms):
        parts = [_CATEGORY.match(part) for part in term.split(":")]
        if len(parts) < 2 or matrix.x[:, place].any() or not all(parts):
            continue
        if all(_is_frequent(part, guard) for part in parts if part):
            raise DisclosureError(
                f"{plan.formula!r} tells fewer than {guard.minimum} rows of this node apart (minimum cell "
                "count); leave out or merge rare categories."
            )


def _is_frequent(part: re.Match[str], guard: DisclosureGuard) -> bool:
    column = part["column"].removeprefix("C(").removesuffix(")")
    return column in guard.table and part["word"].removeprefix("T.") in guard.frequent_categories(column)


def _same_factor(plan: Plan, first: int, second: int) -> bool:
    """Whether two columns code the same categories, or parts of them, so that their pairs say nothing new."""
    if max(first, second) >= len(plan.terms):
        return False
    parts = [{part.split("[")[0] for part in plan.terms[j].split(":")} for j in (first, second)]
    return bool(parts[0] & parts[1])
