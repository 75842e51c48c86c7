"""What if the server waits for a cohort, but not for all of it, or not for ever?

A cohort is drawn and sent the newest model. The server waits for everyone; or until a deadline, after which
late clients are given up or their results come later, from an older model; or for the first so many of a
cohort that was drawn larger than needed. Who is slow arrives more rarely, so weights are corrected by how
often drawn clients arrive. That is counted by weight: who is drawn in a small cohort weighs more and arrives
more easily, so that a plain share of arrivals would correct too much.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ...errors import ConfigError, unknown
from ...typing import ClientIds, Float64s
from ..base import Clients, timing_registry
from ..clock.hardware import exact_time
from .base import Policy

LATE = ("drop", "keep")
_COUNTED = ("sent", "came", "first")


@dataclass
class _Some(Policy):
    """A cohort of which some arrive; how often drawn clients do is counted."""

    by_cohort: ClassVar[bool] = True

    def begin(self, clients: Clients) -> None:
        super().begin(clients)
        self.sent, self.came, self.first = np.zeros((3, len(clients.importance)))
        """What each client weighed in all when it was drawn and when it came, in units of what it weighed
        first."""

    def chosen(self, clients: ClientIds, weights: Float64s) -> None:
        self.first[clients] = np.where(self.first[clients] > 0, self.first[clients], weights)
        self.sent[clients] += self._units(clients, weights)

    def _units(self, clients: ClientIds, weights: Float64s) -> Float64s:
        """Weights in units of each client's first one: exactly one where they are always the same."""
        first = self.first[clients]
        return np.where(first > 0, weights / np.where(first > 0, first, 1.0), 1.0)

    def correction(self, clients: ClientIds) -> Float64s:
        """One over the chance that a drawn client arrives: known, or counted with one success and one job
        more."""
        self.came[clients] += self._units(clients, self.drawn[clients])
        if self.weights == "identical":
            return np.ones(len(clients))
        known = self.chance() if self.weights == "corrected" else None
        chance = (self.came + 1) / (self.sent + 1) if known is None else known
        return np.minimum(1 / np.maximum(chance[clients], 1e-6), self.largest_weight)

    def leave_late(self) -> None:
        """Give up the jobs that are still under way."""
        late = np.array(sorted(self.jobs.working()), np.int64)
        self.jobs.cancel(late)
        self.give_up(late)

    def chance(self) -> Float64s | None:
        """The probability that each drawn client's result is taken, lost ones included, where it is known."""
        return None

    def state(self):  # type: ignore[no-untyped-def]
        return {**super().state(), **{name: getattr(self, name).copy() for name in _COUNTED}}

    def restore(self, state):  # type: ignore[no-untyped-def]
        super().restore(state)
        for name in _COUNTED:
            if name in state:  # runs of earlier versions did not count, or not by weight
                setattr(self, name, np.array(state[name]))


@timing_registry.add("wait-for-all")
@dataclass
class WaitForAll(_Some):
    """Synchronous rounds on real hardware: a round takes as long as its slowest client."""

    def wait(self) -> tuple[int, list[int]]:
        return self.taken(self.arrivals())

    def correction(self, clients: ClientIds) -> Float64s:
        """Everyone arrives whose job is neither lost nor given up; real clients are taken as they come."""
        if self._real or not self._losses:
            return np.ones(len(clients))
        return super().correction(clients)

    def chance(self) -> Float64s | None:
        within = np.ones(len(self.times.mean))
        if self.timeout is not None:
            known = self.times.chance_within(float(self.timeout))
            if known is None:
                return None
            within = known
        return (1 - self.dropout) * within


@timing_registry.add("deadline")
@dataclass
class Deadline(_Some):
    """Whoever is ready in time; `deadline:1.5,keep` lets late results come in a later round."""

    time: float | Fraction = 1.0
    late: str = "drop"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.late not in LATE:
            raise unknown("way with late clients", self.late, LATE)

    def grid(self) -> list[Fraction]:
        return [exact_time(self.time)]

    def wait(self) -> tuple[int, list[int]]:
        tick = self.now + self.ticks(self.time)
        found = self.arrivals(until=tick)
        if not len(self.jobs):  # nobody is late
            return self.taken(found)
        if self.late == "drop":
            self.leave_late()
        return tick, found

    def chance(self) -> Float64s | None:
        if self._losses or self.late == "keep":
            return None
        return self.times.chance_within(float(self.time))


@timing_registry.add("over-selection")
@dataclass
class OverSelection(_Some):
    """The first so many results of a larger cohort; the rest is given up."""

    take: int = 10
    weights: str = field(default="online", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.take < 1:
            raise ConfigError(f"over-selection must take at least one result, but takes {self.take}.")

    def wait(self) -> tuple[int, list[int]]:
        found = self.arrivals(count=self.take)
        self.leave_late()
        return self.taken(found)
