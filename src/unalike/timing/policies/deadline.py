"""Deadlines: a cohort's late results are dropped, or come later."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...errors import unknown
from ...typing import Float64s
from ..base import timing_registry
from ..clock.hardware import exact_time
from .cohorts import CohortPolicy

LATE = ("drop", "keep")


@timing_registry.add("deadline")
@dataclass
class Deadline(CohortPolicy):
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
