"""Which steps does a run take?  (Cohorts that a participation draws, as the timing orders them.)"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, islice

from ..engine import Engine, Setting
from ..participation import Cohort, Participation, RoundContext, check_cohort
from ..timing import Step, Timing
from ..typing import ClientIds
from .progress import Progress
from .queries import ClientQueries


class Cohorts:
    """Draws the cohorts of a run, and remembers what is to be recorded of each."""

    def __init__(self, setting: Setting, engine: Engine, participation: Participation, now: Progress) -> None:
        self._setting, self._engine, self._participation, self._now = setting, engine, participation, now
        self.everyone = participation.everyone
        self._notes: dict[int, dict[str, ClientIds]] = {}

    def __call__(self, number: int) -> Cohort:
        setting = self._setting
        queries = ClientQueries(self._engine, number, self._now)
        context = RoundContext(number, setting.federation.importance, setting.seed, queries)
        cohort = check_cohort(self._participation.cohort(context), len(setting.federation))
        self._notes[number] = {**cohort.notes, **queries.asked}
        return cohort

    def notes(self, number: int) -> dict[str, ClientIds]:
        """Groups of clients worth recording of a round; they are given once."""
        return self._notes.pop(number, {})


class Steps:
    """The steps of a timing up to a number of rounds, and until the clock runs out."""

    def __init__(self, timing: Timing, cohorts: Cohorts, until: float = math.inf) -> None:
        self.timing, self.cohorts, self.until = timing, cohorts, until
        self.late: Step | None = None
        """The step that came after the clock had run out, kept for a run that goes on."""

    def between(self, done: int, rounds: int) -> Iterator[Step]:
        """Those after `done` steps, until there are `rounds` of them."""
        held = [] if self.late is None else [self.late]
        self.late = None
        later = self.timing.steps(self.cohorts, done + len(held))
        for step in islice(chain(held, later), rounds - done):
            if step.time > self.until:
                self.late = step
                return
            yield step
