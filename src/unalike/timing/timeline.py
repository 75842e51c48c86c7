"""Timeline of a policy without training: who would report when?

The clock does not depend on what is learnt, so a schedule can be known beforehand: how often each client
reports, how old the models are that results start from, how many messages are sent.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, takewhile
from math import inf

import numpy as np

from ..participation import Cohort
from ..typing import Float64s, Int64s
from .base import Clients, Step, Timing


@dataclass(frozen=True)
class Timeline:
    """The steps of a policy."""

    steps: list[Step]
    clients: int

    @property
    def counts(self) -> Int64s:
        """How often each client reports."""
        if not self.steps:
            return np.zeros(self.clients, np.int64)
        return np.bincount(np.concatenate([step.clients for step in self.steps]), minlength=self.clients)

    @property
    def frequency(self) -> Float64s:
        """The share of steps in which each client reports."""
        return self.counts / max(len(self.steps), 1)

    @property
    def expected_weights(self) -> Float64s:
        """The mean weight of each client in a step (q), over the whole schedule."""
        total = np.zeros(self.clients)
        for step in self.steps:
            total[step.clients] += step.weights
        return total / max(len(self.steps), 1)

    @property
    def staleness(self) -> Int64s:
        """How many versions old the model was that each result started from."""
        return np.concatenate([np.zeros(0, np.int64), *(s.number - s.versions for s in self.steps)])


class Everyone:
    """A draw that always names all clients."""

    everyone = True

    def __init__(self, importance: Float64s) -> None:
        self._cohort = Cohort(np.arange(len(importance)), importance)

    def __call__(self, number: int) -> Cohort:
        return self._cohort


def plan_steps(timing: Timing, clients: Clients) -> Iterator[Step]:
    """The steps of a timing in which everyone takes part, without end; the timing itself is not changed."""
    dry = copy.copy(timing)
    dry.begin(clients)
    return dry.steps(Everyone(clients.importance), 0)


def plan_schedule(timing: Timing, clients: Clients, until: float = inf, steps: int | None = None) -> Timeline:
    """The schedule up to a time, or of so many steps.

    >>> from unalike.timing import Asynchronous, FixedTimes
    >>> three = Clients(np.full(3, 1 / 3))
    >>> plan_schedule(Asynchronous(hardware=FixedTimes([2, 3, 4])), three, until=12).counts
    array([6, 4, 3])
    """
    endless = plan_steps(timing, clients)
    planned = takewhile(lambda step: step.time <= until, endless if steps is None else islice(endless, steps))
    return Timeline(list(planned), len(clients.importance))


def plan_results(timing: Timing, clients: Clients, results: int) -> Timeline:
    """A schedule with so many results (a step without any counts as one)."""
    ready = copy.copy(timing)
    ready.begin(clients)
    return results_of(ready, clients, results)


def results_of(ready: Timing, clients: Clients, results: int) -> Timeline:
    """The same of a timing that has begun, which goes on from there."""
    steps, found = [], 0
    for step in ready.steps(Everyone(clients.importance), 0):
        steps.append(step)
        found += len(step.clients) or 1
        if found >= results:
            break
    return Timeline(steps, len(clients.importance))
