"""Report frequencies of clients by renewal simulation, where there is no closed form.

The policy is run dry, without training. With few clients, reports are counted. With many, each would report
too rarely to be counted, but its jobs follow each other without end: a share a_i of them arrives, each lasts
E[T_i] on average, which the hardware knows, and then the client waits for w_i until it is sent the next
model. By renewal

    f_i  is in proportion to  a_i / (E[T_i] + w_i),        sum_i f_i = results per step,

so that the dry run has to tell the waits only, which are short and nearly the same for all.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..typing import Float64s, Int64s
from .base import Clients, Step, Timing
from .clock.hardware import hardware_registry
from .policies.base import Policy
from .timeline import Everyone, Timeline, results_of

EACH, COUNTED = 4000, 60_000
"""Results of each client that are counted, and of all together, at most."""
FEW, FEW_FIXED = COUNTED // EACH, 60
"""Up to so many clients are counted; more where their times never change, which have no luck to average."""
RENEWED, MOST, TOO_FEW = 10, 200_000, 3
"""Results of each client from which waits are learnt, of all together at most, and what is too few."""
PRETENDED = 4.0
"""Waits of the mean length that every client is taken to have had beside its own."""


class Reporting(NamedTuple):
    """How often clients report, and how well that is known."""

    frequency: Float64s
    """The share of steps in which each client reports."""
    variance: Float64s
    """The variance of this estimate, relative to its square."""


def reporting(policy: Policy, clients: Clients, again: bool = False) -> Reporting:
    """The share of steps in which each client reports, by a dry run; `again` has another one, with other
    luck or at a later time, to judge the first by."""
    count = len(clients.importance)
    played = _with_other_luck(policy, clients) if again else copy.copy(policy)
    played.weights = "identical"
    seen = _other(clients) if again else clients
    played.begin(seen)
    fixed = played.times.fixed and not played._losses
    if count <= FEW or (fixed and count <= FEW_FIXED) or not policy.traits.takes_all:
        return _count_reports(played, seen, again)
    return _measure_waits(played, seen, again)


def _count_reports(played: Policy, clients: Clients, later: bool) -> Reporting:
    """Reports counted in the last three quarters; later ones where the same clients would report the same."""
    count = len(clients.importance)
    results = min(COUNTED, EACH * count)
    steps = results_of(played, clients, 2 * results if later else results).steps
    kept = Timeline(steps[len(steps) // 2 if later else len(steps) // 4 :], count)
    random = 0.0 if played.times.fixed and not played._losses else 1.0
    # Who was not heard in a dry run may still come in training, and must not weigh nothing then.
    seen = kept.counts if later else np.maximum(kept.counts, 0.5)
    return Reporting(seen / max(len(kept.steps), 1), random / np.maximum(seen, 0.5))


class _Moment(NamedTuple):
    """Where every client stands: how many jobs it has begun, and when the newest."""

    jobs: Int64s
    started: Int64s


def _measure_waits(played: Policy, clients: Clients, later: bool) -> Reporting:
    """Waits measured over a dry run, or over the second half of one that is twice as long."""
    count = len(clients.importance)
    results = int(np.clip(RENEWED * count, COUNTED, MOST))
    if results < TOO_FEW * count:
        warnings.warn(
            f"how often {count} clients report was estimated from {results} results, so that corrected "
            "weights are imprecise where clients' waits differ; timing weights 'online' count in training.",
            stacklevel=2,
        )
    since = _Moment(np.ones(count, np.int64), np.zeros(count, np.int64))
    steps = played.steps(Everyone(clients.importance), 0)
    if later:
        _play(steps, results)
        since = _Moment(played.jobs.begun.copy(), played.jobs.started.copy())
    per_step = _play(steps, results)
    finished = np.maximum(played.jobs.begun - since.jobs, 0)  # the last job of each is still on its way
    passed = (played.jobs.started - since.started) / played.resolution
    waited = np.maximum(passed - _busy(played, since), 0.0)
    mean = waited.sum() / max(finished.sum(), 1)
    waits = (waited + PRETENDED * mean) / (finished + PRETENDED)
    arriving, lasting = _arriving(played)
    rates = arriving / (lasting + waits)
    share = waits / (lasting + waits)
    return Reporting(rates * per_step / max(rates.sum(), 1e-300), share**2 / (finished + PRETENDED))


def _play(steps: Iterator[Step], results: int) -> float:
    """Go on for so many results (a step without any counts as one); how many there were per step."""
    taken, arrived, counted = 0, 0, 0
    while counted < results:
        found = len(next(steps).clients)
        taken, arrived, counted = taken + 1, arrived + found, counted + (found or 1)
    return arrived / taken


def _busy(played: Policy, since: _Moment) -> Float64s:
    """How long each client worked on its jobs since then, without its last."""
    jobs = played.jobs
    total = np.zeros(len(jobs.begun))
    for job in range(int(since.jobs.min()) - 1, int(jobs.begun.max()) - 1):
        working = np.flatnonzero((since.jobs - 1 <= job) & (job < jobs.begun - 1))
        ticks = jobs.finer * played.times.ticks(working, np.full(len(working), job))
        total[working] += ticks if jobs.longest is None else np.minimum(ticks, jobs.longest)
    return total / played.resolution


def _arriving(played: Policy) -> tuple[Float64s, Float64s]:
    """The share of each client's jobs that arrive, and how long a job lasts on average."""
    kept, times = 1 - played.dropout, played.times
    if played.timeout is None:
        return np.full(len(times.mean), kept), times.mean
    longest = float(played.timeout)
    within, parts = times.chance_within(longest), times.mean_windows(longest / 256, longest)
    if within is None or parts is None:
        return _sample_jobs(played, kept)
    # The mean of ceil(T / part) is half a part too long.
    return kept * within, np.minimum((parts - 0.5 * within) * longest / 256, times.mean)


def _sample_jobs(played: Policy, kept: float) -> tuple[Float64s, Float64s]:
    """The same from a hundred jobs of each client, where the hardware does not know."""
    everyone, longest = np.arange(len(played.times.mean)), float(played.timeout or np.inf)
    drawn = np.stack([played.times.ticks(everyone, np.full(len(everyone), j)) for j in range(100)])
    times = drawn / played.times.resolution
    within = np.maximum((times <= longest).mean(axis=0), 0.005)
    return kept * within, np.minimum(times, longest).mean(axis=0)


def _with_other_luck(policy: Policy, clients: Clients) -> Policy:
    other, hardware = copy.copy(policy), policy.hardware
    if isinstance(hardware, str):
        hardware = hardware_registry.make(hardware, clients=len(clients.importance), seed=clients.seed)
    other.hardware = hardware.again()
    return other


def _other(clients: Clients) -> Clients:
    return clients._replace(seed=clients.seed + 1)


def copy_for_schedule(timing: Timing, clients: Clients) -> Timing:
    """The timing with the weights that it has for these clients, ready for a schedule with other luck."""
    if not isinstance(timing, Policy):
        return timing
    ready = copy.copy(timing)
    ready.begin(clients)
    other = _with_other_luck(timing, clients)
    other.weights = "identical"
    other.begin(_other(clients))
    other.weights, other.weighing = timing.weights, copy.deepcopy(ready.weighing)
    return other
