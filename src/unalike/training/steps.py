"""Steps of a run: cohorts that a participation draws, in the order of the timing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, islice

import numpy as np

from ..engine import Engine, Setting
from ..participation import Cohort, Participation, RoundContext, check_cohort
from ..timing import Step, Timing
from ..typing import ClientIds
from .client_queries import ClientQueries
from .progress import Progress


class Cohorts:
    """Draws the cohorts of a run, and remembers what is to be recorded of each."""

    def __init__(
        self,
        setting: Setting,
        engine: Engine,
        participation: Participation,
        timing: Timing,
        now: Progress,
    ) -> None:
        self.setting, self._engine, self._participation, self._now = setting, engine, participation, now
        streamed = timing.traits.by_cohort and setting.stream is not None
        self.everyone = participation.everyone and not streamed
        """Whether cohorts need not be drawn, for all are alike."""
        self._notes: dict[int, dict[str, ClientIds]] = {}

    def __call__(self, number: int) -> Cohort:
        setting = self.setting
        queries = ClientQueries(self._engine, number, self._now)
        importance = setting.importance(number)
        # Where nobody holds a row, somebody is drawn all the same; the step is emptied below.
        importance = importance if importance.any() else setting.federation.importance
        context = RoundContext(number, importance, setting.seed, queries)
        cohort = check_cohort(self._participation.cohort(context), len(setting.federation))
        self._notes[number] = {**cohort.notes, **queries.asked}
        return cohort

    def notes(self, number: int) -> dict[str, ClientIds]:
        """Groups of clients worth recording of a round; they are given once."""
        return self._notes.pop(number, {})


class _StreamedWeights:
    """Gives steps the weights that follow a stream: p_i(t) in place of the federation's p_i.

    Drawn cohorts have them already; other weights are multiplied by p_i(t) / p_i. Clients that count for
    nothing, because they hold no rows, are left out. Mixing matrices stay as they are.
    """

    def __init__(self, setting: Setting, by_cohort: bool) -> None:
        self._setting, self._by_cohort = setting, by_cohort
        self._usual = setting.federation.importance

    def __call__(self, step: Step) -> Step:
        stream = self._setting.stream
        now = None if stream is None else stream.importance(step.number)
        if now is None or step.weights.ndim > 1:
            return step
        counts, usual = now[step.clients], self._usual[step.clients]
        if self._by_cohort:
            return step.only(counts > 0)
        return step.only((counts > 0) & (usual > 0), counts / np.where(usual > 0, usual, 1.0))


class Steps:
    """The steps of a timing up to a number of rounds, and until the clock runs out."""

    def __init__(self, timing: Timing, cohorts: Cohorts, until: float = math.inf) -> None:
        self.timing, self.cohorts, self.until = timing, cohorts, until
        self._weighted = _StreamedWeights(cohorts.setting, timing.traits.by_cohort)
        self._aggregator = cohorts.setting.aggregator
        self.refused: str | None = None
        """Why the aggregator lets no further step be taken, once it does not."""
        self.late: Step | None = None
        """The step that came after the clock had run out, kept for a run that goes on."""

    def between(self, done: int, rounds: int) -> Iterator[Step]:
        """Those after `done` steps, until there are `rounds` of them."""
        held = [] if self.late is None else [self.late]
        self.late = None
        later = map(self._weighted, self.timing.steps(self.cohorts, done + len(held)))
        stream = self.cohorts.setting.stream
        for step in islice(chain(held, later), rounds - done):
            if stream is not None:  # at once: the next step is weighed by what has arrived until this one
                stream.tick(step.number, step.time)
            if step.time > self.until:
                self.late = step
                return
            admitted = self._aggregator.admit(step)
            self.refused = self._aggregator.refusal(admitted)
            if self.refused is not None:
                self.late = step
                return
            yield admitted
