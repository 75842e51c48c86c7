"""The surrogate objective of asynchronous FL: which objective does a policy really minimize?

Client i reports in a share f_i of all steps with weight d_i, so that in the long run the server descends

    sum_i q_i L_i(theta),    q_i = f_i d_i,    and not    sum_i p_i L_i(theta),

unless q_i / sum_j q_j = p_i. How far the two are apart is chi^2 = sum_i (p_i - q~_i)^2 / q~_i; how long one
has to wait until every client has counted as it should is the window (Fraboni, Vidal, Kameni and Lorenzi, "A
General Theory for Federated Optimization with Asynchronous and Heterogeneous Clients Updates", 2023).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import NamedTuple, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...timing.base import Clients, Timing
from ...timing.clock.hardware import ExponentialTimes
from ...timing.policies.asynchronous import Asynchronous
from ...timing.policies.base import Policy
from ...timing.policies.fedbuff import FedBuff
from ...timing.policies.fedfix import FedFix
from ...timing.policies.wait_for_all import WaitForAll
from ...timing.report_frequency import COUNTED, EACH, copy_for_schedule, reporting
from ...timing.synchronous import Synchronous
from ...timing.timeline import Timeline, plan_results, results_of
from ...typing import Float64s

UNBIASED = 1e-5
"""Weights with a smaller chi-square are called unbiased."""
CERTAIN = 4.0
"""How many times larger than by chance a counted chi-square must be to be called a bias."""


@dataclass(frozen=True)
class Surrogate:
    """The objective sum_i q_i L_i beside the true one, sum_i p_i L_i.

    >>> quick_counts_more = Surrogate(np.array([0.5, 0.5]), np.array([0.8, 0.2]))
    >>> round(quick_counts_more.chi_square(), 6), quick_counts_more.optimum([0.0, 10.0])
    (0.5625, array([2.]))
    """

    importance: Float64s
    expected: Float64s
    """The mean weight of each client in a step (q)."""
    noise: float = 0.0
    """The chi-square that is to be expected where q was counted, even if the two objectives were the same."""

    @property
    def total(self) -> float:
        """The mean length of a step, sum_i q_i."""
        return float(self.expected.sum())

    @property
    def normalized(self) -> Float64s:
        """What clients really count, q~; it sums to one."""
        return self.expected / self.total if self.total > 0 else self.expected

    @property
    def biased(self) -> bool:
        """Whether another objective is minimized, as far as can be told."""
        return self.chi_square() > UNBIASED + CERTAIN * self.noise

    def chi_square(self, types: ArrayLike | None = None) -> float:
        """The distance between the two objectives; infinite if somebody who counts is never heard.

        Clients of one type (a number for each) have the same data, so that only their sum matters.
        """
        kinds = np.arange(len(self.importance)) if types is None else np.asarray(types, np.int64)
        if kinds.shape != self.importance.shape:
            raise ConfigError(f"types need one number for each of {len(self.importance)} clients.")
        wanted, given = (np.bincount(kinds, weights) for weights in (self.importance, self.normalized))
        if (wanted[given <= 0] > 0).any():
            return float("inf")
        heard = given > 0
        return float(((wanted - given)[heard] ** 2 / given[heard]).sum())

    def optimum(self, optima: ArrayLike) -> Float64s:
        """Where training ends on quadratic losses with these optima, if steps are short."""
        rows = np.asarray(optima, np.float64)
        return self.normalized @ (rows[:, None] if rows.ndim == 1 else rows)

    def losses(self, losses: ArrayLike) -> tuple[float, float]:
        """The true objective and this one, from the clients' losses."""
        each = np.asarray(losses, np.float64)
        return float(self.importance @ each), float(self.normalized @ each)

    def deviations(self, losses: ArrayLike) -> tuple[float, float]:
        """The weighted standard deviations of the clients' losses under both objectives."""
        each = np.asarray(losses, np.float64)
        pair = zip((self.importance, self.normalized), self.losses(each), strict=True)
        return tuple(float(np.sqrt(w @ (each - mean) ** 2)) for w, mean in pair)  # type: ignore[return-value]


def surrogate(timing: Timing, clients: Clients) -> Surrogate:
    """What a policy minimizes: in closed form where that is known, else by a dry run that weights were not
    made from.

    >>> from unalike.timing import FixedTimes
    >>> surrogate(Asynchronous(hardware=FixedTimes([1, 4]), weights="identical"),
    ...     Clients(np.array([0.5, 0.5]))).normalized
    array([0.8, 0.2])
    """
    known = expected_weights(timing, clients)
    if known is not None:
        return Surrogate(clients.importance, known)
    if _weighs_by_client(timing):
        seen = reporting(timing, clients, again=True)
        weights = PreparedTiming(timing, clients).policy.weighing.fixed
        # Weights that were made from a dry run, too, are as uncertain as what is seen here.
        noise = (1 + (timing.weights == "corrected")) * float(clients.importance @ seen.variance)
        return Surrogate(clients.importance, seen.frequency * weights, noise)
    return _count_weights(timing, clients)


def _weighs_by_client(timing: Timing) -> TypeGuard[Policy]:
    """Whether a client's results always weigh the same."""
    if not isinstance(timing, Policy) or timing.traits.by_cohort:
        return False
    return timing.weights != "online" and timing.staleness == "constant" and not timing.traits.changes


def _count_weights(timing: Timing, clients: Clients) -> Surrogate:
    """The mean weights of a long schedule, without its beginning."""
    count = len(clients.importance)
    steps = results_of(copy_for_schedule(timing, clients), clients, min(COUNTED, EACH * count)).steps
    kept = Timeline(steps[len(steps) // 4 :], count)
    noise = float(clients.importance @ (1 / np.maximum(kept.counts, 0.5)))
    return Surrogate(clients.importance, kept.expected_weights, noise)


def expected_weights(timing: Timing, clients: Clients) -> Float64s | None:
    """q in closed form: waiting for everyone, asynchronous, and FedFix; None where it is not known."""
    ready = PreparedTiming(timing, clients)
    if ready.changing:
        return None
    if isinstance(timing, Synchronous | WaitForAll):
        return clients.importance
    how_often = ready.plain.frequency() if _weighs_by_client(timing) else None
    return None if how_often is None else how_often * ready.policy.weighing.fixed


def window(timing: Timing, clients: Clients) -> int | None:
    """In how many steps every client has counted exactly as it will in the long run; None if that is random
    or not known.

    >>> from unalike.timing import FixedTimes
    >>> window(Asynchronous(hardware=FixedTimes([2, 3, 4])), Clients(np.full(3, 1 / 3)))
    13
    """
    ready = PreparedTiming(timing, clients)
    if isinstance(timing, Synchronous | WaitForAll) and not ready.changing:
        return 1
    if not ready.repeats:
        return None
    if isinstance(timing, FedFix):
        return lcm(*(int(-(-t // ready.plain.ticks(timing.window))) for t in ready.ticks))
    if isinstance(timing, Asynchronous) or _buffer(timing) == 1:
        whole = lcm(*ready.ticks)
        return sum(whole // t for t in ready.ticks)
    return 1 if _buffer(timing) == len(clients.importance) else None


def staleness_shares(schedule: Timeline) -> Float64s:
    """The share of results that are 0, 1, 2, ... versions old."""
    return np.bincount(schedule.staleness, minlength=1) / max(len(schedule.staleness), 1)


class Traffic(NamedTuple):
    """Messages and bytes per unit of time."""

    uplinks: float
    downlinks: float
    bytes_up: float
    bytes_down: float


def traffic(schedule: Timeline, time: float, bytes_up: int = 0, bytes_down: int = 0) -> Traffic:
    """What a schedule of so much time sends: a message up for every result, and one down for every job that
    ended, in a result or in nothing."""
    up = int(schedule.counts.sum()) / time
    down = up + sum(len(step.lost) for step in schedule.steps) / time
    return Traffic(up, down, up * bytes_up, down * bytes_down)


@dataclass(frozen=True)
class Constants:
    """What the bounds on convergence depend on."""

    alpha: float | None
    """E[omega_i omega_j] = alpha q_i q_j for the random weights omega of two clients in a step; None where
    there is no such number."""
    beta: float | None
    """The largest d_i - alpha q_i: what a client that reports counts beyond its share."""
    longest: float
    """rho: the largest sum of expected weights in a step, or 1."""
    largest: float
    """The largest expected weight of a client in a step."""
    staleness: int
    """tau: how many versions the oldest model is behind that a result started from."""
    window: int | None


def constants(timing: Timing, clients: Clients, schedule: Timeline | None = None) -> Constants:
    """The constants of a policy; the schedule, a long one if not given, tells how old results get.

    >>> constants(Synchronous(), Clients(np.full(4, 0.25)))
    Constants(alpha=1.0, beta=0.0, longest=1.0, largest=0.25, staleness=0, window=1)
    """
    ready = PreparedTiming(timing, clients)
    schedule = schedule or plan_results(timing, clients, max(6000, 40 * len(clients.importance)))
    alpha, beta = _pairs(timing, ready)
    if ready.repeats:
        sums = [float(step.weights.sum()) for step in schedule.steps]
        largest = max(float(step.weights.max(initial=0.0)) for step in schedule.steps)
    else:
        known = expected_weights(timing, clients)
        expected = schedule.expected_weights if known is None else known
        sums, largest = [float(expected.sum())], float(expected.max())
    longest = max(1.0, round(max(sums), 12))  # rounding must not make a step of length one longer
    oldest = int(schedule.staleness.max(initial=0))
    return Constants(alpha, beta, longest, largest, oldest, window(timing, clients))


def _pairs(timing: Timing, ready: PreparedTiming) -> tuple[float | None, float | None]:
    """alpha and beta, where weights of pairs of clients are known."""
    if isinstance(timing, Policy) and timing.weights == "online":
        return None, None
    if isinstance(timing, Asynchronous) or _buffer(timing) == 1:
        return 0.0, float(ready.policy.weighing.fixed.max())  # never two clients at once
    if ready.repeats or (isinstance(timing, WaitForAll) and not ready.changing):
        return 1.0, 0.0  # nothing is random
    if isinstance(timing, FedFix) and isinstance(ready.plain.times, ExponentialTimes) and not ready.changing:
        chance = ready.plain.times.chance_within(float(timing.window))
        return 1.0, float((ready.policy.weighing.fixed * (1 - chance)).max())  # independent of each other
    return None, None


@dataclass(frozen=True)
class PreparedTiming:
    """Copies of a timing that are ready for some clients, and what can be said of it then."""

    timing: Timing
    clients: Clients

    @cached_property
    def policy(self) -> Policy:
        """The timing, ready; where weights are corrected by a dry run, this takes a while."""
        return self._begin(self.timing)

    @cached_property
    def plain(self) -> Policy:
        """The same with identical weights, which no schedule depends on."""
        return self._begin(without_corrections(self.timing))

    def _begin(self, timing: Timing) -> Policy:
        if not isinstance(timing, Policy):
            raise ConfigError(f"{type(timing).__name__} has no hardware.")
        ready = copy.copy(timing)
        ready.begin(self.clients)
        return ready

    @property
    def changing(self) -> bool:
        """Whether jobs get lost, or weights depend on what was seen before or on how long one trains."""
        if not isinstance(self.timing, Policy):
            return not isinstance(self.timing, Synchronous)
        by_cohort, learns = self.timing.traits.by_cohort, self.timing.weights == "online"
        learns = not isinstance(self.timing, WaitForAll) if by_cohort else learns
        lossy = self.timing.dropout > 0 or self.timing.timeout is not None
        return learns or lossy or self.timing.traits.changes

    @property
    def repeats(self) -> bool:
        """Whether the schedule is periodic in the end, with its weights."""
        return not self.changing and (isinstance(self.timing, Synchronous) or self.plain.times.fixed)

    @property
    def resolution(self) -> int:
        """Ticks in a unit of time."""
        return 1 if isinstance(self.timing, Synchronous) else self.plain.resolution

    @cached_property
    def ticks(self) -> list[int]:
        """Each client's ticks for its first job."""
        everyone = np.arange(len(self.clients.importance))
        each = self.plain.times.ticks(everyone, np.zeros_like(everyone))
        return [int(t) * self.plain.jobs.finer for t in each]


def without_corrections(timing: Timing) -> Timing:
    """The same timing with weights that are not corrected, so that it needs no dry run."""
    plain = copy.copy(timing)
    if isinstance(plain, Policy) and not plain.traits.by_cohort:
        plain.weights = "identical"
    return plain


def _buffer(timing: Timing) -> int | None:
    return timing.buffer if isinstance(timing, FedBuff) else None
