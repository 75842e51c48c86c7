"""The recorder: writes a training's record while the next rounds compute."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..engine import Block, Engine, Outcome, Report
from ..participation import Cohort, Participation
from ..runs import Record
from ..timing import Step
from ..typing import Array, ClientIds, Event, State
from .best_model import BestModel
from .cadence import Cadence
from .checkpoint import Checkpointer
from .early_stopping import Stopping
from .evaluation import Evaluation
from .median_columns import decisive_columns
from .observers import Observer
from .round_keeper import RoundKeeper
from .round_report import RoundReport, round_report
from .training_state import Progress

MOST_LISTED = 10_000
"""Larger groups of clients are counted in the record, not listed."""


class _PendingStep(NamedTuple):
    """A step that is computed, or still being computed, and not written down yet."""

    step: Step
    report: Report
    columns: dict[str, float]
    events: list[Event]
    seconds: float
    of_clients: Mapping[str, Array] = {}
    """What the aggregator says of single clients."""


class _StepObservations(NamedTuple):
    """What the aggregator and the stream say of a step."""

    columns: dict[str, float]
    events: list[Event]
    of_clients: Mapping[str, Array]


class Describe(NamedTuple):
    """What is needed to say in numbers what happened in a step."""

    traffic: tuple[int, int]
    """Bytes that one client receives and sends."""
    name: Callable[[int], str]
    """The name of a client."""
    groups: Callable[[int], dict[str, ClientIds]]
    """Clients that were there, asked or excluded in a round."""
    medians: bool = False
    """Whether medians of what clients report are recorded, too."""

    def __call__(self, taken: _PendingStep) -> RoundReport:
        report = round_report(
            *(taken.step, taken.report, *self.traffic, self.name, self.groups(taken.step.number)),
            self.medians,
        )
        report.seconds = taken.seconds
        report.metrics.update(taken.columns)
        report.events.extend(taken.events)
        report.groups = {**report.groups, **taken.of_clients}
        return report


class Recorder:
    """Writes steps one block late, unless something is due: then what is waiting is written at once."""

    def __init__(
        self,
        record: Record,
        engine: Engine,
        participation: Participation,
        now: Progress,
        cadence: Cadence,
        describe: Describe,
        evaluation: Evaluation,
        checkpointer: Checkpointer,
        observer: Observer,
        stopping: Stopping,
        best: BestModel | None = None,
        keeper: RoundKeeper | None = None,
    ) -> None:
        self._record, self._engine, self._participation = record, engine, participation
        self._now, self._cadence = now, cadence
        self._describe, self._evaluation, self._checkpointer = describe, evaluation, checkpointer
        self._observer, self._keeper, self._stopping, self._best = observer, keeper, stopping, best
        self._reached = stopping.begin(record, now.done)
        self._converged = now.done > 0 and self._is_finished(now.state)
        self._waiting: list[_PendingStep] = []
        self._last = time.perf_counter()
        stream = engine.setting.stream
        self._dry = stream is not None and now.done > 0 and stream.is_dry(now.done - 1)
        if now.done == 0:
            self._write(RoundReport(0, stream.facts() if stream else {}), evaluate=True)

    @property
    def enough(self) -> bool:
        """Whether the model is as good as it was to become, or the method has nothing left to do."""
        return self._reached or self._converged

    def add(self, block: Block, outcome: Outcome) -> None:
        """A block was taken; what was taken before it is written meanwhile."""
        self._converged = self._is_finished(outcome.state)
        if self._keeper:
            self._keeper.keep(block.steps[-1], outcome.reports[-1], outcome.state)
        observed = self._observe(block, outcome)
        self._flush()
        now = time.perf_counter()
        seconds = (now - self._last) / len(block.steps)
        self._waiting = [
            _PendingStep(step, report, seen.columns, seen.events, seconds, seen.of_clients)
            for step, report, seen in zip(block.steps, outcome.reports, observed, strict=True)
        ]
        self._last = now
        if self._cadence.is_due(self._now.done):
            self._flush()
            self._last = time.perf_counter()

    def conclude(self, stopped: bool, refused: str | None = None) -> None:
        """Nothing comes after this; a run that was `stopped` is saved as it is, and why a step was `refused`
        is recorded."""
        self._flush()
        if stopped:
            self._save()
            raise KeyboardInterrupt
        if self._now.done < self._cadence.rounds and not self._reached:  # by the clock, or the method
            events = [] if refused is None else [{"kind": "round refused", "reason": refused}]
            self._write(RoundReport(self._now.done, {}, events), evaluate=True)

    def _is_finished(self, state: State) -> bool:
        setting = self._engine.setting
        return setting.algorithm.converges and setting.algorithm.finished(setting.task, state)

    def _observe(self, block: Block, outcome: Outcome) -> list[_StepObservations]:
        """Let the participation and the aggregator see the steps; what is to be recorded of it and of the
        stream for each. The engine's events belong to the last step."""
        who, aggregator = self._participation, self._engine.setting.aggregator
        stream = self._engine.setting.stream
        observed: list[_StepObservations] = []
        for step, report in zip(block.steps, outcome.reports, strict=True):
            if who.learns and report:
                reports = {name: np.asarray(values) for name, values in report.items()}
                who.observe(step.number, Cohort(step.clients, step.weights), reports)
            columns, events = aggregator.observe(step, report) if aggregator.needs.observe else ({}, [])
            arrivals = stream.columns(step.number) if stream else {}
            if stream and not self._dry and stream.is_dry(step.number):
                self._dry = True
                events = [*events, {"kind": "stream ran dry", "arrived_before_round": step.number + 1}]
            observed.append(_StepObservations({**columns, **arrivals}, events, aggregator.of_clients(step)))
        observed[-1].events.extend(self._engine.events())
        return observed

    def _flush(self) -> None:
        """Write what is waiting; evaluate and save where that is due."""
        waiting, self._waiting = self._waiting, []
        for taken in waiting:
            done = taken.step.number + 1
            self._write(self._describe(taken), self._cadence.evaluates(done))
            if self._cadence.saves(done):
                self._save()

    def _write(self, report: RoundReport, evaluate: bool) -> None:
        clients = None
        if evaluate:
            clients = self._evaluation.add_to(report, self._now)
            decisive = decisive_columns(report.metrics)
            self._reached = self._stopping.look(decisive, report.round)
            if self._best is not None:
                self._best.look(report.round, decisive, self._now.messages.tree)
        few = {k: group for k, group in report.groups.items() if len(group) <= MOST_LISTED}
        self._record.write_round(report.round, report.metrics, clients, report.events, report.seconds, few)
        self._observer(report, max(self._cadence.expected, report.round))

    def _save(self) -> None:
        """The best model first: one that is newer than its checkpoint will be found again."""
        if self._best is not None:
            self._best.save()
        self._checkpointer.save()
