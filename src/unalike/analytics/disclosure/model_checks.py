"""Which models does a node fit for somebody else?  (Rules for design matrices and Newton steps.)

The design must single out no row (leverage), no category and no pair of categories, the response included,
may have few rows, and a plan cannot choose rows by leaving out categories. A nonlinear model is evaluated
first at zero, and then only where its weights are spread over many rows, and differ from those of earlier
rounds in many rows.
"""

from __future__ import annotations

import json
import re
from itertools import combinations
from typing import Any

import numpy as np
import scipy.special

from ...data.tables import Table
from ...typing import Float64s
from ..formula import parse_formula
from ..linear.newton import Newton
from ..linear.objectives import LogLoss
from ..model_matrix import Matrix, Plan, complete_rows, matrix_of, why_no_rows
from ..survival.partial_likelihood import PartialLikelihood
from .accumulation import expand_rows
from .allowed_terms import check_terms
from .guard import DisclosureGuard
from .influence import (
    effective_rows,
    has_small_pair,
    indicator_columns,
    is_within,
    largest_leverage,
    singles_out_rows,
)
from .policy import DisclosureError, DisclosurePolicy

_CATEGORY = re.compile(r"(?P<column>.*)\[(?P<word>[^\[\]]*)\]$")
_FAR = 100.0
"""Ranges of a column between its values and a mean that a plan may give it."""
_VISIBLE = 1e-3
"""Combinations of weights that are smaller than this part of the largest are not audited."""


def disclosed_matrix(guard: DisclosureGuard, plan: Plan) -> Matrix:
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
    if plan.gaps == "refuse" and not wanted.all():
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


def check_step(
    guard: DisclosureGuard, plan: Plan, method: Any, point: Any, rows: tuple[Float64s, Float64s]
) -> None:
    """Refuse coefficients at which the sums of a nonlinear model would single out rows.

    Args:
        guard: The node's table, policy and ledger.
        plan: The plan of the model.
        method: The method that the server asks for.
        point: The coefficients at which sums are asked for.
        rows: The design matrix and the response.
    """
    objective = method.objective if isinstance(method, Newton) else None
    if not isinstance(objective, LogLoss | PartialLikelihood):
        return  # sums of products, the same at all coefficients
    at, (x, y) = np.asarray(point, np.float64), rows
    x = x[:, list(objective.columns)] if isinstance(objective, PartialLikelihood) else x
    key = json.dumps([type(objective).__name__, plan.write()], sort_keys=True)
    earlier = guard.ledger.rounds(key)
    if any(np.array_equal(at, one) for one in earlier):
        return
    policy = guard.policy
    if not earlier and at.any():
        raise DisclosureError("this node begins a model at coefficients of zero (rule for Newton steps).")
    if len(earlier) >= policy.maximum_rounds:
        raise DisclosureError(
            f"this node evaluates one model at no more than {policy.maximum_rounds} coefficients."
        )
    weigh = _event_weights if isinstance(objective, PartialLikelihood) else _probabilities
    now = weigh(x, y, at)
    curvature = now * (1 - now) if isinstance(objective, LogLoss) else now
    before = [weigh(x, y, one) for one in earlier]
    spread = _are_spread(x, curvature, now, before, policy)
    if spread and isinstance(objective, LogLoss):  # risk sets are small at late times, however honest
        together = _all_weights(guard, plan, key, now)
        spread = is_within(largest_leverage(together, _VISIBLE), policy.maximum_leverage)
    if not spread:
        raise DisclosureError(
            "at these coefficients the sums of the model lie on too few rows of this node (rule for Newton "
            "steps); a ridge penalty keeps coefficients small."
        )
    guard.ledger.add_round(key, at)


def _all_weights(guard: DisclosureGuard, plan: Plan, key: str, now: Float64s) -> Float64s:
    """Ones, the weights of all rounds of logistic models that share a column with this one, and the new."""
    columns = [np.ones((guard.ledger.size, 1))]
    for asked, rows in guard.ledger.designs():
        if "plan" not in asked:
            continue
        one = json.dumps([LogLoss.__name__, asked["plan"]], sort_keys=True)
        points, old = guard.ledger.rounds(one), Plan.read(asked["plan"])
        if one == key:
            columns.append(expand_rows(now[:, None], rows))
        if points and parse_formula(old.formula).columns & parse_formula(plan.formula).columns:
            x = matrix_of(guard.visible_table(old).rows(rows), old).x
            columns += [expand_rows(_probabilities(x, x, at)[:, None], rows) for at in points]
    return np.column_stack(columns)


def _are_spread(
    x: Float64s, curvature: Float64s, now: Float64s, before: list[Float64s], policy: DisclosurePolicy
) -> bool:
    if not np.isfinite(now).all() or effective_rows(curvature) < policy.minimum_cell_count:
        return False
    weighted = np.column_stack([x, np.ones(len(x))]) * np.sqrt(np.maximum(curvature, 0))[:, None]
    shares = [largest_leverage(weighted)]
    for one in before:
        apart = now - one
        if np.abs(apart).max() > 1e-12:
            shares.append(float((apart**2).max() / (apart**2).sum()))
    return all(is_within(share, policy.maximum_leverage) for share in shares)


def _probabilities(x: Float64s, y: Float64s, at: Float64s) -> Float64s:
    return np.asarray(scipy.special.expit(x @ at))


def _event_weights(x: Float64s, y: Float64s, at: Float64s) -> Float64s:
    """Each row's share of the risk sets, added up over events."""
    order = np.argsort(np.abs(y), kind="stable")
    score = (x @ at)[order]
    risk = np.exp(score - score.max())
    times, event = np.abs(y)[order], y[order] > 0
    first = np.searchsorted(times, times, side="left")
    at_risk = np.cumsum(risk[::-1])[::-1][first]
    with np.errstate(all="ignore"):
        hazard = np.cumsum(np.where(event, 1 / at_risk, 0.0))
    weights = np.empty(len(y))
    weights[order] = risk * hazard[np.searchsorted(times, times, side="right") - 1]
    return weights


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
