"""What do late results do to training, exactly?  (The smallest problem in which they matter.)

Clients with losses ||theta - theta_i||^2 / 2 whose jobs go a part phi = 1 - (1 - eta_l)^K of the way to their
own optimum. A step whose clients S report, each from the version v_i of the model that it was sent, is

    theta^{n+1} = theta^n + phi sum_{i in S} d_i (theta_i - theta^{v_i}),

which is linear. So whether training diverges, how fast it forgets where it started, and how far it stays
from the common optimum are matters of arithmetic, for any schedule (Fraboni, Vidal, Kameni and Lorenzi, "A
General Theory for Federated Optimization with Asynchronous and Heterogeneous Clients Updates", 2023, use the
same clients as examples).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ConfigError
from .base import NONE, Clients, Step, Timing
from .schedule import Schedule, plan_schedule

Floats = NDArray[np.float64]
PLAYED = 6_000
"""Results in a schedule that is long enough to see how fast errors shrink or grow."""
LONGEST_PERIOD = 2_000
"""Schedules that repeat themselves within so many steps are treated exactly."""
GRID, REFINED = 24, 3
"""Steps that are tried at a time, and how often the search is narrowed."""


@dataclass(frozen=True)
class Trajectory:
    """The model after every step, and when that was."""

    times: Floats
    models: Floats
    """(steps, dimensions)."""

    @property
    def settled(self) -> Floats:
        """The mean model over the second half of the steps."""
        return self._second_half.mean(axis=0)

    @property
    def wobble(self) -> Floats:
        """The standard deviation over the second half of the steps."""
        return self._second_half.std(axis=0)

    @property
    def _second_half(self) -> Floats:
        return self.models[len(self.models) // 2 :]


def simulate(schedule: Schedule, optima: ArrayLike, step: float, start: ArrayLike = 0.0) -> Trajectory:
    """The models of clients with these optima (one number or row each) on a schedule.

    >>> from unalike.timing import WaitForAll
    >>> rounds = plan_schedule(WaitForAll(), Clients(np.array([0.5, 0.5])), steps=3)
    >>> simulate(rounds, [0.0, 2.0], step=0.5).models.ravel()
    array([0.5  , 0.75 , 0.875])
    """
    rows = _rows(optima, schedule.clients)
    first = np.broadcast_to(np.asarray(start, np.float64), rows.shape[1:])
    models = np.stack(list(_play(schedule.steps, np.float64(step), rows, first)) or [first])
    return Trajectory(np.array([s.time for s in schedule.steps]), models)


def turns(
    groups: Sequence[Sequence[int]], weights: Sequence[Sequence[float]], steps: int, delay: int = 1
) -> Schedule:
    """Groups of clients that report in turn, one group a step, from a model `delay` versions old.

    >>> [step.versions.tolist() for step in turns([[0, 2], [1, 3]], [[0.5, 0.5]] * 2, steps=3).steps]
    [[0, 0], [0, 0], [1, 1]]
    """
    planned = []
    for number in range(steps):
        clients = np.array(groups[number % len(groups)], np.int64)
        versions = np.full(len(clients), max(number - delay, 0))
        mixing = np.array(weights[number % len(weights)], np.float64)
        planned.append(Step(number, clients, versions, mixing, float(number + 1), NONE))
    return Schedule(planned, 1 + max(client for group in groups for client in group))


def growth(schedule: Schedule, steps: ArrayLike, period: int | None = None) -> Floats:
    """The rate at which errors grow per unit of time (they shrink where it is negative), for each step.

    With the `period` in which the last steps of the schedule repeat, it is exact: the largest eigenvalue of
    what a period does to the models that are in use. Otherwise it is read off a long schedule.

    >>> from unalike.timing import WaitForAll
    >>> rounds = plan_schedule(WaitForAll(), Clients(np.array([0.5, 0.5])), steps=3)
    >>> np.exp(growth(rounds, [0.1, 1.9, 2.1], period=1)).round(6)
    array([0.9, 0.9, 1.1])
    """
    phi = np.atleast_1d(np.asarray(steps, np.float64))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rates = _seen_growth(schedule, phi) if period is None else _exact_growth(schedule, phi, period)
    return np.where(np.isnan(rates), np.inf, rates)


def period_of(schedule: Schedule) -> int | None:
    """After how many steps the end of a schedule repeats what came before, if it can be seen.

    All clients' ages (how many steps and how much time ago each last reported) must be the same again; with
    fixed times and everyone at work, what follows is then the same too.

    >>> from unalike.timing import Asynchronous, FixedTimes
    >>> three = Asynchronous(hardware=FixedTimes([2, 3, 4]))
    >>> period_of(plan_schedule(three, Clients(np.full(3, 1 / 3)), steps=40))
    13
    """
    last = np.full((schedule.clients, 2), np.nan)
    ages = []
    for step in schedule.steps:
        last[step.clients] = step.number, step.time
        ages.append(np.array([step.number, step.time]) - last)
    end = ages[-1] if ages else last
    if np.isnan(end).any():
        return None
    same = (k for k in range(1, len(ages)) if np.allclose(ages[-1 - k], end, rtol=0, atol=1e-9))
    return next(same, None)


def settled_error(schedule: Schedule, importance: Floats, steps: ArrayLike) -> Floats:
    """E ||theta - theta*||^2 after a long time, if optima are independent, of variance one, for each step.

    The average is over the second half of the schedule; it is infinite where training diverges. What is left
    as steps get short is the bias of the policy's weights.

    >>> pair = turns([[0], [1]], [[0.7], [0.3]], 4000)
    >>> settled_error(pair, np.array([0.7, 0.3]), [1e-3]).round(4), settled_error(
    ...     pair, np.array([0.5, 0.5]), [1e-2]).round(4)
    (array([0.]), array([0.08]))
    """
    phi = np.atleast_1d(np.asarray(steps, np.float64))
    half, total = len(schedule.steps) // 2, np.zeros(len(phi))
    first = np.broadcast_to(importance, (len(phi), len(importance)))
    optima = np.broadcast_to(np.eye(schedule.clients)[:, None], (schedule.clients, *first.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        for number, model in enumerate(_play(schedule.steps, phi[:, None], optima, first)):
            if number >= half:
                total += ((model - importance) ** 2).sum(axis=1)
    error = total / max(len(schedule.steps) - half, 1)
    return np.where(np.isnan(error), np.inf, error)


def largest_stable_step(timing: Timing, clients: Clients) -> float:
    """The step phi from which on errors grow for ever.

    >>> from unalike.timing import WaitForAll
    >>> round(largest_stable_step(WaitForAll(), Clients(np.full(4, 0.25))), 3)
    2.0
    """
    return stable_limit(*repeating_schedule(timing, clients))


def stable_limit(schedule: Schedule, period: int | None = None) -> float:
    """The step from which on errors grow on this schedule; infinite if no step of any sense does."""
    pull = float(schedule.expected_weights.sum())
    if pull <= 0:
        return math.inf
    low, high = 1e-4 / pull, 8 / pull
    for _ in range(REFINED):
        tried = np.geomspace(low, high, GRID)
        diverging = growth(schedule, tried, period) > 0
        if not diverging.any():
            return math.inf
        at = int(np.argmax(diverging))
        low, high = tried[max(at - 1, 0)], tried[at]
    return float(np.sqrt(low * high))


def repeating_schedule(timing: Timing, clients: Clients) -> tuple[Schedule, int | None]:
    """A schedule with its period, or a long one if it does not repeat itself soon."""
    schedule = plan_results(timing, clients, PLAYED)
    short = Schedule(schedule.steps[: 2 * LONGEST_PERIOD], schedule.clients)
    period = period_of(short) if _repeats(timing, clients) else None
    return (schedule, None) if period is None else (short, period)
