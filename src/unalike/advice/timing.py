"""Advice on asynchronous aggregation: when should the server aggregate, with clients of these speeds?

Every policy's schedule is known before training, so that what it costs and what it does to weights can be
counted; what it does to training is computed on quadratic losses. A policy that aggregates more often wins
only if the shorter steps that older models need do not cost more; and weights that favor quick clients,

    q_i / sum_j q_j  instead of  p_i,

never come closer to the common optimum than their bias lets them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..data.importance import check_importance
from ..errors import ConfigError
from ..theory.asynchrony.objective import CERTAIN, UNBIASED, PreparedTiming, Surrogate, window
from ..theory.asynchrony.quadratic import repeating_schedule
from ..timing import (
    Asynchronous,
    Clients,
    FedBuff,
    FedFix,
    FixedTimes,
    Hardware,
    Policy,
    Timeline,
    WaitForAll,
    hardware_registry,
)
from ..timing.report_frequency import Reporting, reporting
from ..typing import Document, Float64s, Keywords
from .timing_race import RaceTarget, curve_of

MOST_CLIENTS = 1000
"""Schedules of more clients would take minutes to play."""
WINDOWS, BUFFERS = (0.8, 0.5, 0.2), (0.5, 0.25, 0.1)
"""FedFix windows as shares of the slowest client's time, FedBuff buffers as shares of the clients."""


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
    """How far the weights are from the importances; zero if the right objective is minimized."""
    chance_chi_square: float
    """How far they would seem by chance where reports were counted."""
    window: int | None
    """Aggregations after which all clients have counted as they should; None if that is not known."""
    largest_stable_step: float
    """The part of the way to their own optima that clients may go in a job before training diverges."""
    first_step: float
    """The part of the way that is best in the beginning."""
    time_to_target: float
    """Infinite if the target is never reached."""

    @property
    def biased(self) -> bool:
        """Whether another objective is minimized."""
        return self.chi_square > UNBIASED + CERTAIN * self.chance_chi_square

    def as_dict(self) -> Document:
        """Everything, ready for JSON."""
        return {**asdict(self), "biased": self.biased}


@dataclass(frozen=True)
class TimingAdvice:
    """All policies side by side, the one to use, and why."""

    clients: int
    goal: RaceTarget
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

    def as_dict(self) -> Document:
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
    goal: RaceTarget | None = None,
    seed: int = 0,
) -> TimingAdvice:
    """Compare policies for clients of these speeds (a hardware, or each client's time for a job), and say
    which reaches the target first without a bias.

    >>> advise_timing([1, 1, 1, 5]).recommended
    'fedfix:1'
    """
    goal = goal or RaceTarget()
    check_clients(clients or 1)
    times = _hardware(hardware, importance, clients, seed)
    count = len(times.mean)
    check_clients(count)
    shares = np.full(count, 1 / count) if importance is None else np.asarray(importance, np.float64)
    known = Clients(check_importance(shares, count), seed)
    reports = tuple(
        report
        for name, policy in candidates(times, count).items()
        for report in _reports(name, policy, known, goal)
    )
    best, reasons = _choose(reports, goal)
    return TimingAdvice(count, goal, reports, best, reasons)


def check_clients(count: int) -> None:
    """Whether advice for so many does not take too long."""
    if count > MOST_CLIENTS:
        raise ConfigError(f"advice is for at most {MOST_CLIENTS:,} clients, but there are {count:,}.")


def candidates(times: Hardware, clients: int) -> dict[str, Policy]:
    """Policies worth comparing, by the names that `--timing` takes, with uncorrected weights."""
    slowest = float(times.mean.max())
    windows = [float(f"{slowest * share:.2g}") for share in WINDOWS]
    buffers = sorted({round(clients * share) for share in BUFFERS} & set(range(2, clients)), reverse=True)
    plain: Keywords = {"hardware": times, "weights": "identical"}
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
    return hardware_registry.make(given, clients=count, seed=seed)


# One policy ----------------------------------------------------------------------------------------------


def _reports(name: str, policy: Policy, clients: Clients, goal: RaceTarget) -> Iterator[PolicyReport]:
    """A policy with corrected and with identical weights; they share a schedule."""
    schedule, period = repeating_schedule(policy, clients)
    ready, importance = PreparedTiming(policy, clients), clients.importance
    often = _frequency(ready.policy, schedule, period)
    identical = importance if policy.traits.by_cohort else ready.policy.weighing.fixed
    corrected = np.where(often > 0, importance / np.maximum(often, 1e-300), 0.0)
    seen = _observe_reports(ready.policy, clients, often, period)
    known_window = window(policy, clients) or period
    for words, weights in (("corrected", corrected), ("identical", identical)):
        if words == "identical" and policy.traits.by_cohort:
            return  # nobody reports more often than the others
        weighted = reweight(schedule, weights)
        curve = curve_of(weighted, period, Surrogate(importance, often * weights))
        minimized = Surrogate(importance, seen.frequency * weights)
        step, time = curve.race(goal)
        yield PolicyReport(
            name,
            words,
            **_count_reports(schedule, period),
            chi_square=_tidy(minimized.chi_square()),
            chance_chi_square=2 * float(importance @ seen.variance),
            window=known_window,
            largest_stable_step=curve.limit,
            first_step=step,
            time_to_target=max(time, _first_time(schedule)),
        )


def reweight(schedule: Timeline, weights: Float64s) -> Timeline:
    """The same results at the same times with other weights, one for each client."""
    steps = [step._replace(weights=weights[step.clients]) for step in schedule.steps]
    return Timeline(steps, schedule.clients)


def _frequency(policy: Policy, schedule: Timeline, period: int | None) -> Float64s:
    """How often each client reports: known, or counted over a period or over all that was planned."""
    if policy.traits.by_cohort:
        return np.ones(schedule.clients)
    known = policy.frequency()
    if known is not None:
        return known
    return Timeline(schedule.steps[-period:] if period else schedule.steps, schedule.clients).frequency


def _observe_reports(policy: Policy, clients: Clients, often: Float64s, period: int | None) -> Reporting:
    """The same without doubt where it is known or repeats; else by a dry run of its own, because weights
    always suit the schedule that they were made from."""
    if policy.traits.by_cohort or period or policy.frequency() is not None:
        return Reporting(often, np.zeros(len(often)))
    return reporting(policy, clients, again=True)


def _count_reports(schedule: Timeline, period: int | None) -> Document:
    """Rates and ages over the last period, or over all that was planned."""
    begin = len(schedule.steps) - period if period else 0
    before = schedule.steps[begin - 1].time if begin else 0.0
    time = schedule.steps[-1].time - before
    ages = Timeline(schedule.steps[begin:], schedule.clients).staleness
    return {
        "aggregations_per_time": (len(schedule.steps) - begin) / time,
        "uplinks_per_time": len(ages) / time,
        "mean_staleness": float(ages.mean()),
        "max_staleness": int(schedule.staleness.max()),
    }


def _tidy(number: float) -> float:
    """Without the rounding of what is zero."""
    return 0.0 if number < 1e-15 else number


def _first_time(schedule: Timeline) -> float:
    return next(step.time for step in schedule.steps if len(step.clients))


# The verdict ---------------------------------------------------------------------------------------------


def _choose(reports: Sequence[PolicyReport], goal: RaceTarget) -> tuple[str, tuple[str, ...]]:
    """The unbiased policy that reaches the target first; of nearly equal ones, that with fewest messages."""
    unbiased = [report for report in reports if report.weights == "corrected" and not report.biased]
    soonest = min(unbiased, key=lambda report: report.time_to_target)
    near = [report for report in unbiased if report.time_to_target <= 1.02 * soonest.time_to_target]
    best = min(near, key=lambda report: report.uplinks_per_time)
    reasons = (
        _arrival(best, soonest, goal),
        *_against_waiting(best, reports),
        *_against_biased(best, reports),
    )
    return best.policy, reasons


def _arrival(best: PolicyReport, soonest: PolicyReport, goal: RaceTarget) -> str:
    first = "as the first without a bias"
    if soonest.time_to_target < 0.999 * best.time_to_target:
        first = (
            f"hardly later than {soonest.policy} ({readable(soonest.time_to_target)}), with fewer messages"
        )
    return (
        f"on quadratic losses it comes to {goal.target:.2g} of the initial error after "
        f"{readable(best.time_to_target)} units of time, {first}."
    )


def _against_waiting(best: PolicyReport, reports: Sequence[PolicyReport]) -> list[str]:
    waiting = next(report for report in reports if report.policy == "wait-for-all")
    if best is waiting:
        unbiased = [report for report in reports if report.weights == "corrected" and not report.biased]
        later = [report for report in unbiased if report.time_to_target > best.time_to_target]
        rival = min(later, key=lambda report: report.time_to_target, default=None)
        return [f"With the next, {rival.policy}, {_when(rival)}."] if rival else []
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
    return f"that takes {readable(report.time_to_target)}"


def readable(number: float) -> str:
    """A number with three digits or all before the point.

    >>> readable(0.12345), readable(12345.6), readable(math.inf)
    ('0.123', '12,346', 'never')
    """
    if not math.isfinite(number):
        return "never"
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"
