"""Advice on data streams: how much weight should historical data get?

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023). Rows that stay are the same in
every round, rows that pass make gradients noisy; but rows that count too little are rows less. Strategies are
compared by the part of the error bound that importances p decide,

    psi(p) = sqrt(sum_{m fresh} p_m^2) + (c2/c1) sqrt(sum_m p_m^2 / n_m),

or, where the error is judged with other target weights than shares of rows, by phi, which counts the distance
from the target (:mod:`unalike.data.streams.target_importance`).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..data import Federation
from ..data.importance import importance_of
from ..data.streams.bound_constants import Constants
from ..data.streams.optimal_importance import (
    fresh_norm,
    historical_share,
    imbalance,
    optimal_importance,
    share_out,
)
from ..data.streams.optimal_weights import check_target, is_by_rows
from ..data.streams.target_importance import BY_ROWS, Tradeoff, general_importance, target_bound
from ..errors import ConfigError
from ..typing import Bools, Document, Float64s, Row

STRATEGIES = ("fresh", "historical", "uniform", "memory-size", "fixed", "optimal")
AT_TARGET = 1e-6
"""Weights that differ by less than this are the target."""
TARGET = "target"
"""One more strategy where there is a target other than shares of rows: to count as it says."""
ALIKE = 0.002
"""A bound that is higher by no more than this part is as good."""


@dataclass(frozen=True)
class StrategyReport:
    """What one strategy would cost."""

    name: str
    importance: Float64s | None
    """None where the strategy is not possible; `note` says why."""
    historical: float | None = None
    """What historical clients count together."""
    cost: float | None = None
    """psi over the least psi; infinite where that is zero."""
    noise: float | None = None
    """sqrt(F sum_{fresh} p_m^2): 1 if only fresh clients count, all of them the same."""
    effective: float | None = None
    """N_eff / N, the part of the rows that count."""
    note: str = ""

    def row(self) -> Row:
        """All but the importances, by name."""
        names = ("historical", "cost", "noise", "effective", "note")
        return {"strategy": self.name, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class StreamAdvice:
    """All strategies side by side, the one to use, and why."""

    clients: int
    fresh: int
    fraction: float
    """f, the part of all rows that historical clients hold."""
    ratio: float | None
    """c2/c1; None where there are no fresh clients."""
    constants: Constants | None
    """What the ratio was estimated from."""
    strategies: tuple[StrategyReport, ...]
    recommended: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    curve: tuple[Float64s, Float64s]
    """What historical clients may count together, and the cost of it."""
    target: str = BY_ROWS
    """The name of the target weights."""
    distance: float = 0.0
    """How far the best weights are from the target: the sum of the differences."""

    def __getitem__(self, name: str) -> StrategyReport:
        return {report.name: report for report in self.strategies}[name]

    @property
    def verdict(self) -> str:
        """What to use and why, in sentences."""
        return " ".join((f"Use {self.recommended}:", *self.reasons, *self.warnings))

    def as_dict(self) -> Document:
        """Everything, ready for JSON."""
        best = self["optimal"].importance
        return {
            "clients": self.clients,
            "fresh": self.fresh,
            "historical_rows": self.fraction,
            "ratio": self.ratio,
            "target": self.target,
            "constants": None if self.constants is None else asdict(self.constants),
            "recommended": self.recommended,
            "reasons": list(self.reasons),
            "warnings": list(self.warnings),
            "strategies": [report.row() for report in self.strategies],
            "importance": [] if best is None else best.tolist(),
        }


class _Problem(NamedTuple):
    """What strategies are compared on."""

    shares: Float64s
    fresh: Bools
    tradeoff: Tradeoff
    alpha: Float64s | None
    """Target weights; None where these are the shares of rows."""

    def bound(self, importance: ArrayLike) -> float:
        return float(target_bound(importance, self.shares, self.fresh, self.tradeoff, self.alpha))

    def best(self) -> Float64s:
        if self.alpha is None:
            return optimal_importance(self.shares, self.fresh, self.tradeoff.ratio)
        return general_importance(self.shares, self.fresh, self.alpha, self.tradeoff.terms)


def advise_streams(
    clients: Federation | ArrayLike,
    historical: ArrayLike,
    ratio: float | Constants | Tradeoff,
    held: ArrayLike = 1,
    fixed: float = 0.5,
    target: str | ArrayLike = BY_ROWS,
) -> StreamAdvice:
    """Compare strategies for a federation (or for the rows of its clients over the whole run).

    Args:
        clients: the clients, or the number of rows of each.
        historical: the numbers of the clients whose rows stay.
        ratio: c2/c1 of the error bound, or the constants it is estimated from.
        held: the rows that a fresh client has at a time.
        fixed: a weight of historical clients to compare with.
        target: what clients should count where the error is judged: `data` (their rows), `equal`, or a number
            per client, also in a file.

    >>> advice = advise_streams(np.repeat([10, 40], 25), np.arange(25), ratio=0.15)
    >>> advice.recommended, round(advice["optimal"].historical, 2), round(advice["uniform"].cost, 3)
    ('optimal', 0.45, 1.081)
    """
    rows = np.asarray(clients.train.sizes if isinstance(clients, Federation) else clients, np.float64)
    fresh, goal = _who_is_fresh(rows, historical), check_target(target)
    shares, count = rows / rows.sum(), int(np.count_nonzero(fresh & (rows > 0)))
    constants = ratio if isinstance(ratio, Constants) else None
    alpha = None if is_by_rows(goal) else importance_of(goal, rows.astype(np.int64))
    problem = _Problem(shares, fresh, _tradeoff(ratio, count), alpha)
    best = problem.best()
    least = problem.bound(best)
    memory = np.where(fresh, np.minimum(np.asarray(held, np.float64), rows), rows)
    names = STRATEGIES if alpha is None else (*STRATEGIES, TARGET)
    reports = tuple(
        _report(name, problem, least, _importance(name, problem, memory, best, fixed)) for name in names
    )
    recommended = _choose({report.name: report for report in reports})
    distance = 0.0 if alpha is None else float(np.abs(best - alpha).sum())
    return StreamAdvice(
        len(rows),
        count,
        float(shares[~fresh].sum()),
        problem.tradeoff.ratio if count else None,
        constants,
        reports,
        recommended,
        _reasons(recommended, reports, problem, distance),
        tuple(filter(None, [_empty_bound(constants)])),
        _curve(problem, least),
        goal if isinstance(goal, str) else TARGET,
        distance,
    )


def _who_is_fresh(rows: Float64s, historical: ArrayLike) -> Bools:
    if rows.ndim != 1 or not np.isfinite(rows).all() or rows.min(initial=0) < 0 or not rows.sum() > 0:
        raise ConfigError("advice needs the number of rows of every client, none negative, and not all zero.")
    kept = np.asarray(historical, np.int64)
    wrong = kept[(kept < 0) | (kept >= len(rows))]
    if len(wrong):
        raise ConfigError(f"historical client {wrong[0]} is not one of {len(rows)} clients.")
    fresh = np.ones(len(rows), bool)
    fresh[kept] = False
    return fresh


def _tradeoff(ratio: float | Constants | Tradeoff, fresh: int) -> Tradeoff:
    if isinstance(ratio, Constants):
        return ratio.tradeoff(fresh) if fresh else Tradeoff(math.inf)
    known = ratio if isinstance(ratio, Tradeoff) else Tradeoff(float(ratio))
    if not known.ratio >= 0:
        raise ConfigError(f"the ratio c2/c1 must not be negative, but is {known.ratio}.")
    return known


def _importance(
    name: str, problem: _Problem, memory: Float64s, best: Float64s, fixed: float
) -> Float64s | str:
    """What clients count, or why there is no answer."""
    shares, fresh = problem.shares, problem.fresh
    kept = float(shares[~fresh].sum())
    if name in ("uniform", "optimal"):
        return shares if name == "uniform" else best
    if name == TARGET:
        assert problem.alpha is not None
        has_rows = not (problem.alpha[shares == 0] > 0).any()
        return problem.alpha if has_rows else "clients without rows have a target weight"
    if name == "memory-size":
        return memory / memory.sum() if memory.sum() > 0 else "nobody holds rows"
    part = {"fresh": 0.0, "historical": 1.0, "fixed": fixed}[name]
    if not 0 <= part <= 1:
        raise ConfigError(f"the fixed part of historical clients must be between 0 and 1, but is {part:g}.")
    if (part > 0 and kept == 0) or (part < 1 and kept == 1):
        return f"there are no {'historical' if kept == 0 else 'fresh'} clients"
    return share_out(part, shares, fresh)


def _report(name: str, problem: _Problem, least: float, importance: Float64s | str) -> StrategyReport:
    if isinstance(importance, str):
        return StrategyReport(name, None, note=importance)
    count = np.count_nonzero(problem.fresh & (problem.shares > 0))
    return StrategyReport(
        name,
        importance,
        float(historical_share(importance, problem.fresh)),
        _over(problem.bound(importance), least),
        math.sqrt(count) * float(fresh_norm(importance, problem.fresh)),
        1 / float(imbalance(importance, problem.shares)),
    )


def _over(cost: float, least: float) -> float:
    """One bound over another; without statistical errors, historical rows alone have none at all."""
    return cost / least if least > 0 else 1.0 if cost == 0 else math.inf


def _choose(known: dict[str, StrategyReport]) -> str:
    """A strategy that needs no constants, if it is as good as the best."""
    for name in ("uniform", "historical"):
        cost = known[name].cost
        if cost is not None and cost <= 1 + ALIKE:
            return name
    return "optimal"


def _reasons(
    recommended: str, reports: tuple[StrategyReport, ...], problem: _Problem, distance: float
) -> tuple[str, ...]:
    fraction = float(problem.shares[~problem.fresh].sum())
    fresh = int(np.count_nonzero(problem.fresh & (problem.shares > 0)))
    if not fresh and problem.alpha is None:
        return ("all rows stay, so that each should count the same.",)
    best = next(report for report in reports if report.name == "optimal")
    assert best.historical is not None
    assert best.effective is not None
    start = f"historical clients hold {fraction:.1%} of the rows and should count {best.historical:.1%}"
    start = start if fraction > 0 else "no rows stay, so that only fresh clients count"
    if problem.alpha is not None:
        away = f"{distance:.3g} from" if distance > AT_TARGET else "at"
        sum_of = " (the sum of their differences)" if distance > AT_TARGET else ""
        why = f"weights are {away} the target{sum_of}, and {best.effective:.1%} of all rows count that way."
        return (f"{start}: {why}", *_rivals(recommended, reports))
    kappa, root = problem.tradeoff.ratio * math.sqrt(fresh), math.sqrt(fraction)
    why = {
        "historical": "fresh rows bring more noise than they are worth, for c2/c1 times the root of the "
        f"number of fresh clients, {kappa:.3g}, is {'not' if kappa <= root else 'hardly'} above the root "
        f"of the historical share, {root:.3g}.",
        "uniform": "noise from rows that pass costs little, rows that count too little would cost more.",
        "optimal": "theirs do not change from round to round, and yet "
        f"{best.effective:.1%} of all rows count that way.",
    }[recommended]
    return (f"{start}: {why}", *_rivals(recommended, reports))


def _rivals(recommended: str, reports: tuple[StrategyReport, ...]) -> list[str]:
    """By how much the bound of the others is higher, where that is worth a word."""
    higher = [
        f"{100 * (report.cost - 1):.2g} % with {report.name}"
        for report in reports
        if report.name != recommended and report.cost is not None and 1 + ALIKE < report.cost < 100
    ]
    return [f"The bound is higher by {', '.join(higher)}."] if higher else []


def _empty_bound(constants: Constants | None) -> str:
    return f"Mind that {constants.warning}" if constants is not None and constants.warning else ""


def _curve(problem: _Problem, least: float) -> tuple[Float64s, Float64s]:
    """The cost of every part that historical clients may count together."""
    shares, fresh = problem.shares, problem.fresh
    kept = float(shares[~fresh].sum())
    parts = np.linspace(0, 1, 101) if 0 < kept < 1 else np.array([float(kept > 0)])
    costs = [_over(problem.bound(share_out(part, shares, fresh)), least) for part in parts]
    return parts, np.array(costs)
