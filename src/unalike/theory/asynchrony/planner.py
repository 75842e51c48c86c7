"""Step-size conditions and convergence bounds of timing policies, term by term.

Fraboni, Vidal, Kameni and Lorenzi ("A General Theory for Federated Optimization with Asynchronous and
Heterogeneous Clients Updates", 2023): with K local steps of length eta_l, a server step eta_g, eta = eta_l
eta_g, losses of smoothness L, models at most tau versions old and weights whose expectations are right over
windows of W steps, the mean optimality gap of N steps is at most of the order of

    ||theta^0 - theta*||^2 / (eta K N) + eta_l^2 (K-1)^2 (R + Sigma) + eta (W-1) K
        + (eta + eta^2 K^2 tau^2) (alpha (R + max_i q_i Sigma) + beta (R + Sigma)).

Constants are dropped, so that bounds are there to be compared, not to be believed.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, fields
from typing import Any

from ...errors import ConfigError
from ...timing.base import Clients, Timing
from ...timing.clock.hardware import exact_time
from ...timing.policies.asynchronous import Asynchronous
from ...timing.policies.fedfix import FedFix
from ...timing.policies.wait_for_all import WaitForAll
from ...timing.synchronous import Synchronous
from ...timing.timeline import plan_schedule
from .objective import Constants, PreparedTiming, without_corrections


@dataclass(frozen=True, kw_only=True)
class TrainingSetup:
    """A training whose bound is asked for."""

    aggregations: int
    """N, the server's steps."""
    local_steps: int = 1
    learning_rate: float | None = None
    """eta_l; 1 / sqrt(K N) when not given."""
    server_learning_rate: float = 1.0
    smoothness: float = 1.0
    """L: gradients change at most so much per unit of distance."""
    residual: float = 1.0
    """Sigma: the clients' mean squared stochastic gradient at the common optimum."""
    surrogate_gap: float = 0.0
    """R: how far the steps' own objectives could fall below their values at the common optimum, on
    average."""
    initial_distance: float = 1.0
    """||theta^0 - theta*||^2."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, may_vanish = getattr(self, field.name), field.name in _MAY_VANISH
            if value is not None and not (
                math.isfinite(value) and (value > 0 or (value == 0 and may_vanish))
            ):
                wanted = "at least 0" if may_vanish else "above 0"
                raise ConfigError(f"{field.name} must be {wanted}, but is {value}.")

    @property
    def local_rate(self) -> float:
        """eta_l."""
        return self.learning_rate or 1 / math.sqrt(self.local_steps * self.aggregations)

    @property
    def step(self) -> float:
        """eta, the local and the server's learning rate together."""
        return self.local_rate * self.server_learning_rate


_MAY_VANISH = ("residual", "surrogate_gap", "initial_distance")


# How short steps must be ---------------------------------------------------------------------------------


def largest_learning_rate(known: Constants, course: TrainingSetup) -> float:
    """The local learning rate up to which the theory holds:
    min(1, 1 / (3 rho^2 eta_g (tau + 1))) / (48 K L).

    >>> sync = Constants(1.0, 0.0, longest=1.0, largest=0.1, staleness=0, window=1)
    >>> round(1 / largest_learning_rate(sync, TrainingSetup(aggregations=100)))
    144
    """
    slowed = 3 * known.longest**2 * course.server_learning_rate * (known.staleness + 1)
    return min(1.0, 1 / slowed) / (48 * course.local_steps * course.smoothness)


@dataclass(frozen=True)
class StepConditions:
    """Whether steps are short enough, for each of three reasons."""

    local: bool
    """48 eta_l^2 (K-1)^2 L^2 <= 1."""
    server: bool
    """144 rho^2 eta L <= 1."""
    stale: bool
    """2304 rho^3 eta^2 K^2 tau^2 L^2 <= 1."""

    def __bool__(self) -> bool:
        return self.local and self.server and self.stale


def step_conditions(known: Constants, course: TrainingSetup) -> StepConditions:
    """What the proof asks of steps; a learning rate up to :func:`largest_learning_rate` meets all three."""
    steps, smooth, rho = course.local_steps, course.smoothness, known.longest
    return StepConditions(
        local=48 * (course.local_rate * (steps - 1) * smooth) ** 2 <= 1,
        server=144 * rho**2 * course.step * smooth <= 1,
        stale=2304 * rho**3 * (course.step * steps * known.staleness * smooth) ** 2 <= 1,
    )


# What is left of the gap ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class GapTerms:
    """The reasons why the mean optimality gap is not zero."""

    initial: float
    """Training has not gone far enough."""
    local: float
    """Clients drift while they work."""
    together: float
    """Clients that report together have noise and old models."""
    alone: float
    """Clients that report count more than their share."""
    unequal: float
    """Steps have different objectives: R, or eta (W-1) K where windows are known."""

    @property
    def total(self) -> float:
        """Their sum."""
        return float(sum(astuple(self)))


def gap_terms(known: Constants, course: TrainingSetup) -> GapTerms:
    """The bound of a policy by its constants; a window puts the order of its length in the place of R.

    >>> sync = Constants(1.0, 0.0, longest=1.0, largest=0.1, staleness=0, window=1)
    >>> round(gap_terms(sync, TrainingSetup(aggregations=100)).total, 6)
    0.11
    """
    if known.alpha is None or known.beta is None:
        raise ConfigError("the bound needs alpha and beta, which this policy does not have.")
    steps, eta, gap = course.local_steps, course.step, course.surrogate_gap
    late = eta + (eta * steps * known.staleness) ** 2
    return GapTerms(
        initial=course.initial_distance / (eta * steps * course.aggregations),
        local=(course.local_rate * (steps - 1)) ** 2 * (gap + course.residual),
        together=known.alpha * late * (gap + known.largest * course.residual),
        alone=known.beta * late * (gap + course.residual),
        unequal=gap if known.window is None else eta * (known.window - 1) * steps,
    )


# The three bounds for equal importances and eta_l = 1 / sqrt(K N) ----------------------------------------


def synchronous_bound(course: TrainingSetup, clients: int) -> float:
    """The order of the gap if the server waits for everyone."""
    root = math.sqrt(course.local_steps * course.aggregations)
    drift = (course.local_steps - 1) / course.aggregations * course.residual
    return course.initial_distance / root + drift + course.residual / (clients * root)


def asynchronous_bound(course: TrainingSetup, clients: int, slowdown: float, window: int) -> float:
    """The order of the gap if the server waits for nobody; `slowdown` is the slowest client's time over the
    quickest one's."""
    root = math.sqrt(course.local_steps * course.aggregations)
    noise = course.surrogate_gap + course.residual
    late = slowdown**3 * course.local_steps / course.aggregations * clients**2
    drift = (course.local_steps - 1) / course.aggregations * course.residual
    return course.initial_distance / root + drift + (slowdown / root + late) * noise + (window - 1) / root


def fedfix_bound(course: TrainingSetup, clients: int, slowest: int, window: int) -> float:
    """The order of the gap of FedFix; `slowest` is how many steps the slowest client takes, ceil(tau /
    window)."""
    root = math.sqrt(course.local_steps * course.aggregations)
    gap, residual = course.surrogate_gap, course.residual
    late = 1 / root + course.local_steps / course.aggregations * slowest**2
    drift = (course.local_steps - 1) / course.aggregations * (gap + residual)
    mixed = late * (gap + slowest * residual / clients)
    return course.initial_distance / root + drift + mixed + (window - 1) / root


# How many steps there are --------------------------------------------------------------------------------


def aggregations(timing: Timing, clients: Clients, time: Any) -> int:
    """How many steps a policy takes in a time; for fixed times T / max_i tau_i, sum_i T / tau_i or T / Delta.

    >>> import numpy as np
    >>> from unalike.timing import FixedTimes
    >>> three, clients = FixedTimes([2, 3, 4]), Clients(np.full(3, 1 / 3))
    >>> policies = WaitForAll(hardware=three), Asynchronous(hardware=three), FedFix(1, hardware=three)
    >>> [aggregations(policy, clients, time=24) for policy in policies]
    [6, 26, 24]
    """
    if isinstance(timing, Synchronous):
        return math.floor(exact_time(time))
    if isinstance(timing, FedFix) and not timing.traits.changes:
        return math.floor(exact_time(time) / exact_time(timing.window))
    ready = PreparedTiming(timing, clients)
    if ready.repeats and isinstance(timing, WaitForAll | Asynchronous):
        end = math.floor(exact_time(time) * ready.resolution)
        each = [end // ticks for ticks in ready.ticks]
        return min(each) if isinstance(timing, WaitForAll) else sum(each)
    return len(plan_schedule(without_corrections(timing), clients, until=float(exact_time(time))).steps)
