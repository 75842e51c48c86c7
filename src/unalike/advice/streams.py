"""Advice on data streams: how much weight should historical data get?

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023). Rows that stay are the same in
every round, rows that pass make gradients noisy; but rows that count too little are rows less. Strategies are
compared by the part of the error bound that importances p decide,

    psi(p) = sqrt(sum_{m fresh} p_m^2) + (c2/c1) sqrt(sum_m p_m^2 / n_m).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..data import Federation
from ..data.streams.bound_constants import Constants
from ..data.streams.optimal_importance import (
    fresh_norm,
    historical_share,
    imbalance,
    optimal_importance,
    psi,
    share_out,
)
from ..errors import ConfigError
from ..typing import Bools, Document, Float64s, Row

STRATEGIES = ("fresh", "historical", "uniform", "memory-size", "fixed", "optimal")
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
            "constants": None if self.constants is None else asdict(self.constants),
            "recommended": self.recommended,
            "reasons": list(self.reasons),
            "warnings": list(self.warnings),
            "strategies": [report.row() for report in self.strategies],
            "importance": [] if best is None else best.tolist(),
        }


def advise_streams(
    clients: Federation | ArrayLike,
    historical: ArrayLike,
    ratio: float | Constants,
    held: ArrayLike = 1,
    fixed: float = 0.5,
) -> StreamAdvice:
    """Compare strategies for a federation (or for the rows of its clients over the whole run).

    `historical` are the numbers of the clients whose rows stay, `held` the rows that a fresh client has at a
    time, `ratio` is c2/c1 or the constants it is estimated from, and `fixed` a part for historical clients.

    >>> advice = advise_streams(np.repeat([10, 40], 25), np.arange(25), ratio=0.15)
    >>> advice.recommended, round(advice["optimal"].historical, 2), round(advice["uniform"].cost, 3)
    ('optimal', 0.45, 1.081)
    """
    rows = np.asarray(clients.train.sizes if isinstance(clients, Federation) else clients, np.float64)
    fresh = _who_is_fresh(rows, historical)
    shares, count = rows / rows.sum(), int(np.count_nonzero(fresh & (rows > 0)))
    constants = ratio if isinstance(ratio, Constants) else None
    known = _ratio(ratio, count)
    best = optimal_importance(shares, fresh, known)
    least = _bound(best, shares, fresh, known)
    memory = np.where(fresh, np.minimum(np.asarray(held, np.float64), rows), rows)
    reports = tuple(
        _report(name, shares, fresh, known, least, _importance(name, shares, fresh, memory, best, fixed))
        for name in STRATEGIES
    )
    recommended = _choose({report.name: report for report in reports})
    fraction = float(shares[~fresh].sum())
    return StreamAdvice(
        len(rows),
        count,
        fraction,
        known if count else None,
        constants,
        reports,
        recommended,
        _reasons(recommended, reports, fraction, count, known),
        tuple(filter(None, [_empty_bound(constants)])),
        _curve(shares, fresh, known, least),
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


def _ratio(ratio: float | Constants, fresh: int) -> float:
    if isinstance(ratio, Constants):
        return ratio.ratio(fresh) if fresh else math.inf
    if not ratio >= 0:
        raise ConfigError(f"the ratio c2/c1 must not be negative, but is {ratio}.")
    return float(ratio)


def _importance(
    name: str, shares: Float64s, fresh: Bools, memory: Float64s, best: Float64s, fixed: float
) -> Float64s | str:
    """What clients count, or why there is no answer."""
    kept = float(shares[~fresh].sum())
    if name in ("uniform", "optimal"):
        return shares if name == "uniform" else best
    if name == "memory-size":
        return memory / memory.sum() if memory.sum() > 0 else "nobody holds rows"
    part = {"fresh": 0.0, "historical": 1.0, "fixed": fixed}[name]
    if not 0 <= part <= 1:
        raise ConfigError(f"the fixed part of historical clients must be between 0 and 1, but is {part:g}.")
    if (part > 0 and kept == 0) or (part < 1 and kept == 1):
        return f"there are no {'historical' if kept == 0 else 'fresh'} clients"
    return share_out(part, shares, fresh)


def _report(
    name: str, shares: Float64s, fresh: Bools, ratio: float, least: float, importance: Float64s | str
) -> StrategyReport:
    if isinstance(importance, str):
        return StrategyReport(name, None, note=importance)
    count = np.count_nonzero(fresh & (shares > 0))
    return StrategyReport(
        name,
        importance,
        float(historical_share(importance, fresh)),
        _over(_bound(importance, shares, fresh, ratio), least),
        math.sqrt(count) * float(fresh_norm(importance, fresh)),
        1 / float(imbalance(importance, shares)),
    )


def _bound(importance: ArrayLike, shares: Float64s, fresh: Bools, ratio: float) -> float:
    """psi, of which only the second root is left if the ratio is infinite."""
    if math.isinf(ratio):
        return math.sqrt(float(imbalance(importance, shares)))
    return float(psi(importance, shares, fresh, ratio))


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
    recommended: str, reports: tuple[StrategyReport, ...], fraction: float, fresh: int, ratio: float
) -> tuple[str, ...]:
    if not fresh:
        return ("all rows stay, so that each should count the same.",)
    best = next(report for report in reports if report.name == "optimal")
    assert best.historical is not None
    assert best.effective is not None
    kappa, root = ratio * math.sqrt(fresh), math.sqrt(fraction)
    start = f"historical clients hold {fraction:.1%} of the rows and should count {best.historical:.1%}"
    why = {
        "historical": "fresh rows bring more noise than they are worth, for c2/c1 times the root of the "
        f"number of fresh clients, {kappa:.3g}, is {'not' if kappa <= root else 'hardly'} above the root "
        f"of the historical share, {root:.3g}.",
        "uniform": "noise from rows that pass costs little, rows that count too little would cost more.",
        "optimal": "theirs do not change from round to round, and yet "
        f"{best.effective:.1%} of all rows count that way.",
    }[recommended]
    start = start if fraction > 0 else "no rows stay, so that only fresh clients count"
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


def _curve(shares: Float64s, fresh: Bools, ratio: float, least: float) -> tuple[Float64s, Float64s]:
    """The cost of every part that historical clients may count together."""
    kept = float(shares[~fresh].sum())
    parts = np.linspace(0, 1, 101) if 0 < kept < 1 else np.array([float(kept > 0)])
    costs = [_over(_bound(share_out(part, shares, fresh), shares, fresh, ratio), least) for part in parts]
    return parts, np.array(costs)
