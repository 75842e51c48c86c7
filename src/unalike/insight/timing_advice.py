"""When should the server aggregate, with clients of these speeds?

Every policy's schedule is known before training, so that what it costs and what it does to weights can be
counted; what it does to training is computed on quadratic losses whose curvatures are up to a factor
`conditioning` apart, and whose optima differ by `unlike` times the distance to go. There, at the best step
that no curvature makes diverge,

    error(t)^2 = (initial error)^2 exp(-2 rate t) + (what old and biased results leave)^2.

So a policy that aggregates more often wins only if its shorter steps and older models do not cost more; and
weights that favour quick clients never come closer than their bias. Mini-batches add noise on top.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConfigError
from ..participation import check_importance
from ..timing import (
    Asynchronous,
    Clients,
    FedBuff,
    FedFix,
    FixedTimes,
    Hardware,
    Policy,
    Schedule,
    WaitForAll,
    hardwares,
)
from ..timing.laboratory import growth, repeating_schedule, settled_error, stable_limit
from ..timing.surrogate import UNBIASED, Surrogate, begun, window

Floats = NDArray[np.float64]
MOST_CLIENTS = 1000
"""Schedules of more clients would take minutes to play."""
WINDOWS, BUFFERS = (0.8, 0.5, 0.2), (0.5, 0.25, 0.1)
"""FedFix windows as shares of the slowest client's time, FedBuff buffers as shares of the clients."""
FINENESS, FINEST, CURVATURES = 64, 1e5, 24
"""Steps at which rates are computed, how many times shorter than the limit the first is, and the number of
curvatures."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What training is to reach, on which losses."""

    target: float = 0.01
    """The error to reach, as a share of the initial one."""
    conditioning: float = 10.0
    """The largest curvature over the smallest, as far as local work does not even them out."""
    unlike: float = 0.1
    """How far clients' optima are apart, as a share of the initial error."""

    def __post_init__(self) -> None:
        if not 0 < self.target < 1:
            raise ConfigError(f"the target must be between 0 and 1, but is {self.target}.")
        if not (1 <= self.conditioning < math.inf and 0 <= self.unlike < math.inf):
            raise ConfigError(
                "the conditioning must be at least 1 and clients at least 0 apart, but these are "
                f"{self.conditioning} and {self.unlike}."
            )

    @property
    def curvatures(self) -> Floats:
        """Curvatures from the smallest to the largest, which is one."""
        return np.geomspace(1 / self.conditioning, 1.0, CURVATURES)


@dataclass(frozen=True)
class PolicyReport:
    """What is known of one policy with one kind of weights; times are in units of the hardware."""

    policy: str
    weights: str
    """`corrected` or `identical`."""
    aggregations_per_time: float
    uplinks_per_time: float
    mean_staleness: float
    max_staleness: int
    chi_square: float
    """How far the weights are from the importances; zero if the right objective is minimised."""
    window: int | None
    """Aggregations after which all clients have counted as they should; None if that is not known."""
    largest_stable_step: float
    """The part of the way to their own optima that clients may go in a job before training diverges."""
    best_step: float | None
    """The part of the way with which the target is reached first; None if it never is."""
    time_to_target: float
    """Infinite if the target is never reached."""

    @property
    def biased(self) -> bool:
        """Whether another objective is minimised."""
        return self.chi_square > UNBIASED

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {**asdict(self), "biased": self.biased}


@dataclass(frozen=True)
class TimingAdvice:
    """All policies side by side, the one to use, and why."""

    clients: int
    goal: Goal
    policies: tuple[PolicyReport, ...]
    recommended: str
    reasons: tuple[str, ...]

    def __getitem__(self, name: str | tuple[str, str]) -> PolicyReport:
        """A policy by its name, or by its name and weights; corrected when they are not given."""
        wanted = (name, "corrected") if isinstance(name, str) else name
        return {(report.policy, report.weights): report for report in self.policies}[wanted]

    @property
    def verdict(self) -> str:
        """What to use and why, in sentences."""
        return " ".join((f"Use {self.recommended}:", *self.reasons))

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {
            "clients": self.clients,
            **asdict(self.goal),
            "recommended": self.recommended,
            "reasons": list(self.reasons),
            "policies": [report.as_dict() for report in self.policies],
        }


def advise_timing(
    hardware: str | Hardware | Sequence[float],
    importance: ArrayLike | None = None,
    *,
    clients: int | None = None,
    goal: Goal | None = None,
    seed: int = 0,
) -> TimingAdvice:
    """Compare policies for clients of these speeds (a hardware, or each client's time for a job), and say
    which reaches the target first without a bias.

    >>> advise_timing([1, 1, 1, 5]).recommended
    'fedfix:1'
    """
    goal = goal or Goal()
    times = _hardware(hardware, importance, clients, seed)
    count = len(times.mean)
    if count > MOST_CLIENTS:
        raise ConfigError(f"advice is for at most {MOST_CLIENTS:,} clients, but there are {count:,}.")
    shares = np.full(count, 1 / count) if importance is None else np.asarray(importance, np.float64)
    known = Clients(check_importance(shares, count), seed)
    reports = tuple(
        report
        for name, policy in candidates(times, count).items()
        for report in _reports(name, policy, known, goal)
    )
    best, reasons = _choose(reports, goal)
    return TimingAdvice(count, goal, reports, best, reasons)


def candidates(times: Hardware, clients: int) -> dict[str, Policy]:
    """Policies worth comparing, by the names that `--timing` takes, with uncorrected weights."""
    slowest = float(times.mean.max())
    windows = [float(f"{slowest * share:.2g}") for share in WINDOWS]
    buffers = sorted({round(clients * share) for share in BUFFERS} & set(range(2, clients)), reverse=True)
    plain: dict[str, Any] = {"hardware": times, "weights": "identical"}
    return {
        "wait-for-all": WaitForAll(**plain),
        **{f"fedfix:{window:g}": FedFix(window, **plain) for window in windows},
        **{f"fedbuff:{buffer}": FedBuff(buffer, **plain) for buffer in buffers},
        "async": Asynchronous(**plain),
    }


def _hardware(
    given: str | Hardware | Sequence[float], importance: ArrayLike | None, clients: int | None, seed: int
) -> Hardware:
    if isinstance(given, Hardware):
        return given
    if not isinstance(given, str):
        return FixedTimes(given)
    count = clients or (10 if importance is None else len(np.asarray(importance)))
    return hardwares.make(given, clients=count, seed=seed)


# One policy ----------------------------------------------------------------------------------------------


def _reports(name: str, policy: Policy, clients: Clients, goal: Goal) -> Iterator[PolicyReport]:
    """A policy with corrected and with identical weights; they share a schedule."""
    schedule, period = repeating_schedule(policy, clients)
    ready, importance = begun(policy, clients), clients.importance
    often = _frequency(ready.policy, schedule, period)
    identical = importance if policy.by_cohort else ready.policy.weighing.fixed
    corrected = np.where(often > 0, importance / np.maximum(often, 1e-300), 0.0)
    known_window = window(policy, clients) or period
    for words, weights in (("corrected", corrected), ("identical", identical)):
        if words == "identical" and policy.by_cohort:
            return  # nobody reports more often than the others
        weighted = reweighted(schedule, weights)
        minimised = Surrogate(importance, often * weights)
        curve = _curve(weighted, period, minimised)
        step, time = curve.best(goal)
        yield PolicyReport(
            name,
            words,
            **_counted(schedule),
            chi_square=_tidy(minimised.chi_square()),
            window=known_window,
            largest_stable_step=curve.limit,
            best_step=step,
            time_to_target=max(time, _first_time(schedule)),
        )


def reweighted(schedule: Schedule, weights: Floats) -> Schedule:
    """The same results at the same times with other weights, one for each client."""
    steps = [step._replace(weights=weights[step.clients]) for step in schedule.steps]
    return Schedule(steps, schedule.clients)


def _frequency(policy: Policy, schedule: Schedule, period: int | None) -> Floats:
    """How often each client reports: known, or counted over a period or over all that was planned."""
    if policy.by_cohort:
        return np.ones(schedule.clients)
    known = policy.frequency()
    if known is not None:
        return known
    return Schedule(schedule.steps[-period:] if period else schedule.steps, schedule.clients).frequency


def _counted(schedule: Schedule) -> dict[str, Any]:
    time, staleness = schedule.steps[-1].time, schedule.staleness
    return {
        "aggregations_per_time": len(schedule.steps) / time,
        "uplinks_per_time": len(staleness) / time,
        "mean_staleness": float(staleness.mean()),
        "max_staleness": int(staleness.max()),
    }


def _tidy(number: float) -> float:
    """Without the rounding of what is zero."""
    return 0.0 if number < 1e-15 else number


def _first_time(schedule: Schedule) -> float:
    return next(step.time for step in schedule.steps if len(step.clients))


# Training on quadratic losses ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """How fast errors shrink, and how large they stay, for steps up to the largest stable one."""

    limit: float
    steps: Floats
    pace: Floats
    """The rate per unit of time over the step, which is constant for short steps."""
    left: Floats
    """The squared error that stays, for optima of variance one."""

    def rate(self, steps: Floats) -> Floats:
        """The rate at which errors shrink per unit of time."""
        return steps * np.interp(np.log(steps), np.log(self.steps), self.pace)

    def error(self, steps: Floats) -> Floats:
        """The squared error that stays."""
        return np.interp(np.log(steps), np.log(self.steps), self.left)

    def best(self, goal: Goal) -> tuple[float | None, float]:
        """The step that reaches the goal first, and when."""
        steps = self.steps[:, None] * goal.curvatures
        slowest = self.rate(steps).min(axis=1)
        room = goal.target**2 - goal.unlike**2 * self.error(steps).max(axis=1)
        possible = (slowest > 0) & (room > 0)
        if not possible.any():
            return None, math.inf
        times = -np.log(room[possible]) / 2 / slowest[possible]
        return float(self.steps[possible][times.argmin()]), float(times.min())


def _curve(schedule: Schedule, period: int | None, minimised: Surrogate) -> Curve:
    limit = stable_limit(schedule, period)
    short = np.geomspace(1 / FINEST, 0.1, FINENESS // 2, endpoint=False)
    steps = limit * np.concatenate([short, np.linspace(0.1, 1.0, FINENESS, endpoint=False)])
    pace = -growth(schedule, steps, period) / steps
    few = steps[:: len(steps) // 20]
    left = settled_error(schedule, minimised.importance, few, minimised.expected)
    return Curve(limit, steps, pace, np.interp(np.log(steps), np.log(few), left))


# The verdict ---------------------------------------------------------------------------------------------


def _choose(reports: Sequence[PolicyReport], goal: Goal) -> tuple[str, tuple[str, ...]]:
    """The unbiased policy that reaches the target first; of nearly equal ones, that with fewest messages."""
    unbiased = [report for report in reports if not report.biased]
    soonest = min(report.time_to_target for report in unbiased)
    near = [report for report in unbiased if report.time_to_target <= 1.02 * soonest]
    best = min(near, key=lambda report: report.uplinks_per_time)
    reasons = (_arrival(best, goal), *_against_waiting(best, reports), *_against_biased(best, reports))
    return best.policy, reasons


def _arrival(best: PolicyReport, goal: Goal) -> str:
    return (
        f"of the policies without a bias, it is the first to come to {goal.target:.2g} of the initial error "
        f"on quadratic losses, after {best.time_to_target:.3g} units of time."
    )


def _against_waiting(best: PolicyReport, reports: Sequence[PolicyReport]) -> list[str]:
    waiting = next(report for report in reports if report.policy == "wait-for-all")
    if best is waiting:
        rivals = [report for report in reports if not report.biased and report is not waiting]
        rival = min(rivals, key=lambda report: report.time_to_target)
        return [f"With the next, {rival.policy}, {_when(rival)}."]
    messages = best.uplinks_per_time / waiting.uplinks_per_time
    return [f"If all are waited for, {_when(waiting)}, with {1 / messages:.0%} of the messages per time."]


def _against_biased(best: PolicyReport, reports: Sequence[PolicyReport]) -> list[str]:
    """What weights that are not corrected would do to the same policy."""
    return [
        f"Its weights must be corrected: identical ones are biased (chi-square {report.chi_square:.2g}), and "
        f"with them {_when(report)}."
        for report in reports
        if report.policy == best.policy and report.biased
    ]


def _when(report: PolicyReport) -> str:
    if not math.isfinite(report.time_to_target):
        return "that is never reached"
    return f"that takes {report.time_to_target:.3g}"
