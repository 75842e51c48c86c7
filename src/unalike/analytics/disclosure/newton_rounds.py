"""Disclosure rules for Newton steps: at which coefficients does a node evaluate a nonlinear model?

Sums of a logistic or Cox model weigh rows by its coefficients. A model begins at zero, and is then evaluated
only where its weights are spread over many rows, and where no combination of them with the weights of all
rounds before puts too much on one row. Rounds of all models of a kind that share a column count together, so
that another spelling of a formula, or another term, is no new beginning.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from ...typing import Array, Float64s
from ..design import INTERCEPT
from ..formula import parse_formula
from ..linear.newton import Newton
from ..linear.objectives import LogLoss
from ..model_matrix import Plan, matrix_of
from ..survival.partial_likelihood import PartialLikelihood
from .accumulation import expand_rows
from .guard import DisclosureGuard
from .influence import effective_rows, is_within, largest_leverage
from .policy import DisclosureError, DisclosurePolicy
from .row_weights import event_weights, probabilities

_OF_COX = 1e-3
"""Combinations of weights of Cox models, each scaled to one, that are smaller than this are not audited: risk
sets at late times are small, however honest. Those of logistic models are audited down to rounding."""
_OF_LOGISTIC = 1e-10
_SAME = 1e-12
"""Weights that differ by no more than this are the same."""

Nonlinear = LogLoss | PartialLikelihood


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
    if not isinstance(objective, Nonlinear):
        return  # sums of products, the same at all coefficients
    _check_columns(objective, plan)
    at, policy, key = np.asarray(point, np.float64), guard.policy, _round_key(objective, plan)
    earlier = guard.ledger.rounds(key)
    if any(np.array_equal(at, one) for one in earlier):
        return
    if not earlier and at.any():
        raise DisclosureError("this node begins a model at coefficients of zero (rule for Newton steps).")
    if len(earlier) >= policy.maximum_rounds:
        raise DisclosureError(
            f"this node evaluates one model at no more than {policy.maximum_rounds} coefficients."
        )
    x, y = rows
    now = _weights(objective, plan, x, y, at)
    x = x if isinstance(objective, LogLoss) else x[:, _coefficients(plan)]
    if not _is_spread(objective, x, now, policy) or not _are_apart(guard, plan, objective, now, policy):
        raise DisclosureError(
            "at these coefficients the sums of the model, with those before, lie on too few rows of this "
            "node (rule for Newton steps); use fewer terms, the log of a skewed column, or a ridge penalty."
        )
    guard.ledger.add_round(key, at)


def _is_spread(objective: Nonlinear, x: Float64s, now: Float64s, policy: DisclosurePolicy) -> bool:
    """Whether the weights of one round are spread over many rows."""
    curvature = now * (1 - now) if isinstance(objective, LogLoss) else now
    if not np.isfinite(now).all() or effective_rows(curvature) < policy.minimum_cell_count:
        return False
    weighted = np.column_stack([x, np.ones(len(x))]) * np.sqrt(np.maximum(curvature, 0))[:, None]
    return is_within(largest_leverage(weighted), policy.maximum_leverage)


def _are_apart(
    guard: DisclosureGuard, plan: Plan, objective: Nonlinear, now: Float64s, policy: DisclosurePolicy
) -> bool:
    """Whether the weights of all rounds, this one included, tell no row apart."""
    before, rows = _earlier_weights(guard, plan, objective)
    new = expand_rows(now[:, None], rows)[:, 0]
    for one in before:
        apart = np.abs(new - one)
        share = float((apart**2).max() / max((apart**2).sum(), 1e-300))
        if apart.max() > _SAME and not is_within(share, policy.maximum_leverage):
            return False
    together = np.column_stack([np.ones(len(new)), *before, new])
    visible = _OF_LOGISTIC if isinstance(objective, LogLoss) else _OF_COX
    return is_within(largest_leverage(together, visible), policy.maximum_leverage)


def _earlier_weights(
    guard: DisclosureGuard, plan: Plan, objective: Nonlinear
) -> tuple[list[Float64s], Array]:
    """The weights of all rounds of models of this kind that share a column with a plan, and its rows."""
    columns, found, mine = parse_formula(plan.formula).columns, list[Float64s](), np.ones(0, bool)
    for asked, rows in guard.ledger.designs():
        if "plan" not in asked:
            continue
        old = Plan.read(asked["plan"])
        mine = rows if old == plan else mine
        rounds = [(one, guard.ledger.rounds(_round_key(one, old))) for one in _kinds(objective)]
        if any(points for _, points in rounds) and parse_formula(old.formula).columns & columns:
            made = matrix_of(guard.visible_table(old).rows(rows), old)
            weights = [_weights(one, old, made.x, made.y, at) for one, points in rounds for at in points]
            found += [expand_rows(one[:, None], rows)[:, 0] for one in weights]
    return found, mine


def _kinds(objective: Nonlinear) -> list[Nonlinear]:
    """The objectives whose rounds count together with those of this one."""
    if isinstance(objective, LogLoss):
        return [objective]
    return [replace(objective, ties=ties) for ties in ("breslow", "efron")]


def _round_key(objective: Nonlinear, plan: Plan) -> str:
    """Under which key the ledger holds the rounds of a model."""
    ties = None if isinstance(objective, LogLoss) else objective.ties
    return json.dumps([type(objective).__name__, ties, plan.write()], sort_keys=True)


def _weights(objective: Nonlinear, plan: Plan, x: Float64s, y: Float64s, at: Float64s) -> Float64s:
    if isinstance(objective, LogLoss):
        return probabilities(x, at)
    return event_weights(x[:, _coefficients(plan)], y, at, objective.ties)


def _coefficients(plan: Plan) -> list[int]:
    """The columns of a plan that have a coefficient in a Cox model."""
    return [place for place, term in enumerate(plan.terms) if term != INTERCEPT]


def _check_columns(objective: Nonlinear, plan: Plan) -> None:
    """Raise where a Cox model takes some columns of its plan only."""
    if isinstance(objective, PartialLikelihood) and list(objective.columns) != _coefficients(plan):
        raise DisclosureError("a Cox model of this node has a coefficient for every term of its plan.")
