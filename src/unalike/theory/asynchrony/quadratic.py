"""Stale updates on quadratic losses, exactly: the smallest problem in which they matter.

Clients with losses ||theta - theta_i||^2 / 2 whose jobs go a part phi = 1 - (1 - eta_l)^K of the way to their
own optimum. A step in which the clients S report, each from the version v_i that it was sent, is

    theta^{n+1} = theta^n + phi sum_{i in S} d_i (theta_i - theta^{v_i}),

which is linear. So whether training diverges, how fast it forgets where it started, and how far it stays
from the common optimum are matters of arithmetic, for any schedule. (Such clients are the examples of
Fraboni, Vidal, Kameni and Lorenzi, "A General Theory for Federated Optimization with Asynchronous and
Heterogeneous Clients Updates", 2023.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...timing.base import Clients, Step, Timing
from ...timing.timeline import Timeline, plan_results
from ...typing import Float64s, Int64s
from .objective import PreparedTiming

PLAYED = 6_000
"""Results in a schedule that is long enough to see how fast errors shrink or grow."""
LONGEST_PERIOD = 2_000
"""Schedules that repeat themselves within so many steps are treated exactly."""
TRIED = (256, 32, 32)
"""How many steps phi are tried before the search is narrowed to two neighbors; many at first, because longer
steps may be stable again."""


@dataclass(frozen=True)
class Trajectory:
    """The model after every step, and when that was."""

    times: Float64s
    models: Float64s
    """(steps, dimensions)."""

    @property
    def settled(self) -> Float64s:
        """The mean model over the second half of the steps."""
        return self._second_half.mean(axis=0)

    @property
    def wobble(self) -> Float64s:
        """The standard deviation over the second half of the steps."""
        return self._second_half.std(axis=0)

    @property
    def _second_half(self) -> Float64s:
        return self.models[len(self.models) // 2 :]


def simulate(schedule: Timeline, optima: ArrayLike, step: float, start: ArrayLike = 0.0) -> Trajectory:
    """The models of clients with these optima (a number or a row for each) on a schedule.

    >>> simulate(turns([[0, 1]], [[0.5, 0.5]], steps=3, delay=0), [0.0, 2.0], step=0.5).models.ravel()
    array([0.5  , 0.75 , 0.875])
    """
    rows = np.asarray(optima, np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if len(rows) != schedule.clients or not np.isfinite(rows).all():
        raise ConfigError(f"optima need one finite row for each of {schedule.clients} clients.")
    first = np.broadcast_to(np.asarray(start, np.float64), rows.shape[1:])
    models = list(_play(schedule.steps, np.array(step), rows, _ring(schedule, first)))
    times = np.array([step.time for step in schedule.steps])
    return Trajectory(times, np.array(models).reshape(len(models), *rows.shape[1:]))


def turns(
    groups: Sequence[Sequence[int]], weights: Sequence[Sequence[float]], steps: int, delay: int = 1
) -> Timeline:
    """Groups of clients that report in turn, one group a step, from models `delay` versions old.

    >>> [step.versions.tolist() for step in turns([[0, 2], [1, 3]], [[0.5, 0.5]] * 2, steps=3).steps]
    [[0, 0], [0, 0], [1, 1]]
    """
    planned = []
    for number in range(steps):
        clients = np.array(groups[number % len(groups)], np.int64)
        versions = np.full(len(clients), max(number - delay, 0))
        mixing = np.array(weights[number % len(groups)], np.float64)
        planned.append(Step(number, clients, versions, mixing, float(number + 1)))
    return Timeline(planned, 1 + max(client for group in groups for client in group))


def growth(schedule: Timeline, steps: ArrayLike, period: int | None = None) -> Float64s:
    """The rate at which errors grow per unit of time (they shrink where it is negative), for each step phi.

    With the `period` in which the last steps of the schedule repeat, it is exact: the largest eigenvalue of
    what a period does to the models that are in use. Otherwise it is read off the schedule's second half.

    >>> np.exp(growth(turns([[0]], [[1.0]], steps=2, delay=0), [0.1, 1.9, 2.1], period=1)).round(6)
    array([0.9, 0.9, 1.1])
    """
    phi = np.atleast_1d(np.asarray(steps, np.float64))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rates = _measure_growth(schedule, phi) if period is None else _exact_growth(schedule, phi, period)
    return np.where(np.isnan(rates), np.inf, rates)


def settled_error(
    schedule: Timeline, importance: Float64s, steps: ArrayLike, expected: Float64s | None = None
) -> Float64s:
    """E ||theta - theta*||^2 after a long time, for optima that are independent and of variance one, for each
    step phi; infinite where training diverges.

    The mean is over the second half of the schedule. What is left of it as steps get short is the bias of the
    expected weights, those of the schedule when not given.

    >>> pair = turns([[0], [1]], [[0.7], [0.3]], steps=1000)
    >>> [settled_error(pair, np.array(p), [1e-3]).round(4).item() for p in ([0.7, 0.3], [0.5, 0.5])]
    [0.0, 0.08]
    """
    phi = np.atleast_1d(np.asarray(steps, np.float64))
    expected = schedule.expected_weights if expected is None else expected
    first = np.tile(expected / max(expected.sum(), 1e-300), (len(phi), 1))
    optima = np.eye(schedule.clients)[:, None, :]  # one column for each client whose optimum is one
    half, total = len(schedule.steps) // 2, np.zeros(len(phi))
    with np.errstate(over="ignore", invalid="ignore"):
        for n, model in enumerate(_play(schedule.steps, phi[:, None], optima, _ring(schedule, first))):
            if n >= half:
                total += ((model - importance) ** 2).sum(axis=1)
    error = total / max(len(schedule.steps) - half, 1)
    return np.where(np.isfinite(error), error, np.inf)


def largest_stable_step(timing: Timing, clients: Clients) -> float:
    """The step phi from which on errors grow for ever.

    >>> from unalike.timing import WaitForAll
    >>> round(largest_stable_step(WaitForAll(), Clients(np.full(4, 0.25))), 3)
    2.0
    """
    return stable_limit(*repeating_schedule(timing, clients))


def stable_limit(schedule: Timeline, period: int | None = None) -> float:
    """The step phi from which on errors grow on this schedule; infinite if none does."""
    pull = float(schedule.expected_weights.sum())
    if pull <= 0:
        return math.inf
    low, high = 1e-5 / pull, 16 / pull
    for count in TRIED:
        tried = np.geomspace(low, high, count)
        diverging = growth(schedule, tried, period) > 0
        if not diverging.any():
            return math.inf
        at = int(np.argmax(diverging))
        low, high = tried[max(at - 1, 0)], tried[at]
    return float(np.sqrt(low * high))


def repeating_schedule(timing: Timing, clients: Clients) -> tuple[Timeline, int | None]:
    """A schedule with its period, or a long one if it does not repeat itself soon."""
    ready, results = PreparedTiming(timing, clients), max(PLAYED, 40 * len(clients.importance))
    for enough in (results // 5, results) if ready.repeats else ():
        schedule = plan_results(timing, clients, enough)
        short = Timeline(schedule.steps[: 2 * LONGEST_PERIOD], schedule.clients)
        period = period_of(short, ready.resolution)
        if period is not None:
            return short, period
    return plan_results(timing, clients, results), None


def period_of(schedule: Timeline, resolution: int = 10**6) -> int | None:
    """After how many steps the end of a schedule repeats what came before, if that can be seen.

    How many steps, and how many ticks, ago each client last reported must be the same again. With fixed times
    and everyone at work, what follows is then the same too. `resolution` is the ticks in a unit of time.

    >>> from unalike.timing import Asynchronous, FixedTimes, plan_schedule
    >>> three = Asynchronous(hardware=FixedTimes([2, 3, 4]))
    >>> period_of(plan_schedule(three, Clients(np.full(3, 1 / 3)), steps=40))
    13
    """
    last = np.full((schedule.clients, 2), -1, np.int64)
    ages = []
    for step in schedule.steps:
        now = step.number, round(step.time * resolution)
        last[step.clients] = now
        ages.append(hash((np.array(now) - last).tobytes()))
    if (last < 0).any():
        return None
    return next((k for k in range(1, len(ages)) if ages[-1 - k] == ages[-1]), None)


def _play(steps: Sequence[Step], phi: Float64s, optima: Float64s, ring: Float64s) -> Iterator[Float64s]:
    """The model after each step; `ring` holds the versions in use, version v in row v modulo its length."""
    depth = len(ring)
    for step in steps:
        model = ring[step.number % depth].copy()
        if len(step.clients):
            gaps = optima[step.clients] - ring[step.versions % depth]
            model = model + phi * np.tensordot(step.weights, gaps, 1)
        ring[(step.number + 1) % depth] = model
        yield model


def _ring(schedule: Timeline, first: Float64s) -> Float64s:
    """As many copies of the first model as there are versions in use."""
    return np.repeat(first[None], 1 + int(schedule.staleness.max(initial=0)), axis=0)


def _exact_growth(schedule: Timeline, phi: Float64s, period: int) -> Float64s:
    """From the eigenvalues of the matrix that takes the versions in use before a period to those after."""
    begin, end = len(schedule.steps) - period, len(schedule.steps)
    depth = 1 + int(schedule.staleness.max(initial=0))
    ring = np.repeat(np.eye(depth)[:, None], len(phi), axis=1)
    ring = ring[_by_age(begin, depth).argsort()]
    for _ in _play(schedule.steps[begin:], phi[:, None], np.zeros((schedule.clients, 1, 1)), ring):
        pass
    matrices = ring[_by_age(end, depth)].swapaxes(0, 1)
    finite = np.isfinite(matrices).all(axis=(1, 2))
    radius = np.full(len(phi), np.inf)
    radius[finite] = np.abs(np.linalg.eigvals(matrices[finite])).max(axis=1)
    before = schedule.steps[begin - 1].time if begin else 0.0
    return np.log(radius) / (schedule.steps[-1].time - before)


def _by_age(newest: int, depth: int) -> Int64s:
    """Rows of a ring, from the newest version to the oldest."""
    return (newest - np.arange(depth)) % depth


def _measure_growth(schedule: Timeline, phi: Float64s) -> Float64s:
    """The slope of log ||versions in use|| over the second half of a schedule, for clients with optimum 0."""
    ring = _ring(schedule, np.ones((len(phi), 1)))
    half, seldom = len(schedule.steps) // 2, 4 * len(ring)
    logs, first = np.zeros(len(phi)), np.zeros(len(phi))
    zeros = np.zeros((schedule.clients, 1, 1))
    for n, _ in enumerate(_play(schedule.steps, phi[:, None], zeros, ring)):
        if n % seldom == 0 or n in (half, len(schedule.steps) - 1):
            size = np.sqrt((ring**2).sum(axis=(0, 2)))
            logs += np.log(size)
            ring /= np.where(size > 0, size, 1.0)[:, None]
        if n == half:
            first = logs.copy()
    return (logs - first) / (schedule.steps[-1].time - schedule.steps[half].time)
