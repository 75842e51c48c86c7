"""How does a federation train?  (The one loop.)

    for step in timing.steps(participation):            clients, model versions, weights, clock
        start = history[step.versions]                  one model, or one per client
        state = engine.run(step, state, start)          local work anywhere, then mixing
        record(step, state)                             metrics, checkpoint, history

A new method is a new choice of one of these words, not a new loop.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import jax
import numpy as np

from ..algorithms import Algorithm
from ..core.pytrees import Tree, size
from ..engine import Engine, Memories, Messages, Report, Setting, reply_template, root_key
from ..errors import RunError
from ..participation import Cohort, Full, Participation, RoundContext, check_cohort
from ..runs import Record, RunFolder
from ..timing import Clients, Draw, Step, Synchronous, Timing, plan_schedule
from ..typing import Int64s
from .blocks import Blocks
from .checkpoint import load_checkpoint
from .consensus import consensus_columns
from .divergence import Divergence
from .history import History
from .interrupts import Interrupts, StoppedWaitingError
from .queries import ClientQueries
from .round_report import RoundReport, evaluation_columns, round_report

Observer = Callable[[RoundReport, int], None]
"""Called after every round with what happened and the total number of rounds."""


MOST_TOGETHER, MOST_KEPT = 256, 32 << 20
"""Clients whose results are computed together before the server takes them one by one, and bytes of these."""
ENDLESS = 2**62
MOST_LISTED = 10_000
"""Larger groups of clients are counted in the record, not listed."""


@dataclass(frozen=True)
class Cadence:
    """When a run looks at itself and saves itself (in rounds; 0 means only at the end)."""

    evaluate_every: int = 0
    checkpoint_every: int = 0
    evaluate_clients: int = 10_000
    """Evaluate on at most this many clients, evenly spaced."""


class Done(NamedTuple):
    """A round that is computed, or still being computed, and not written down yet."""

    step: Step
    said: Report
    events: list[dict[str, Any]]
    seconds: float


@dataclass
class Training:
    """Everything that one run of the loop needs; :func:`train` builds it."""

    setting: Setting
    engine: Engine
    participation: Participation
    timing: Timing
    rounds: int
    schedule: Cadence
    record: Record
    folder: RunFolder | None = None
    observer: Observer | None = None
    history: History = field(init=False)
    memories: Memories = field(init=False)
    state: Tree = None
    done: int = 0
    at_once: int = 1
    until: float = math.inf
    late: Step | None = None
    """The step that came after the clock had run out."""

    def __post_init__(self) -> None:
        task, algorithm = self.setting.task, self.setting.algorithm
        self.importance = self.setting.federation.importance
        # Not compiled: most broadcasts only pick leaves, and a compiled call would wait for the round.
        self.broadcast = partial(algorithm.broadcast, task)
        self.history = History(self.broadcast)
        everyone = len(self.importance)
        few = min(self.schedule.evaluate_clients, everyone)
        self.judged = np.linspace(0, everyone - 1, few).round().astype(np.int64)
        self.notes: dict[int, dict[str, Int64s]] = {}

    def start(self, initial: Tree | None = None, keep_history: bool = False) -> None:
        """The state before the first round."""
        task, algorithm = self.setting.task, self.setting.algorithm
        first = initial if initial is not None else algorithm.init(task, root_key(self.setting.seed, "init"))
        self.state = self.engine.place(first)
        self.history = History(self.broadcast, keep_history)
        self.history.add(0, self.state)
        message = self._client_message(self.history.messages[0])
        self.parameters = size(message)
        reply = reply_template(self.setting, message)
        self.memories = self.engine.memories(reply.memory, len(self.setting.federation))
        self.traffic = algorithm.traffic(message, reply.upload)
        self.flight = self.engine.flight(lambda version: self.history.messages[version])
        self.timing.begin(self._clients())

    def _clients(self) -> Clients:
        return Clients(self.importance, self.setting.seed, *self.traffic, self.flight)

    def plan_ahead(
        self, rounds: int | None, evaluate_every: int | None, checkpoint_every: int | None
    ) -> None:
        """How many rounds there will be, and when to evaluate and to save."""
        self.expected = self.rounds
        if rounds is None:
            self.expected = len(plan_schedule(self.timing, self._clients(), self.until).steps)
            # With everyone this is exact; where some are drawn, the clock alone says when it is over.
            self.rounds = self.expected if isinstance(self.participation, Full) else ENDLESS
        self.schedule = replace(
            self.schedule,
            evaluate_every=_cadence(evaluate_every, self.expected, 20),
            checkpoint_every=_cadence(checkpoint_every, self.expected, 10),
        )

    def go(self) -> None:
        """Train to the last round; Ctrl-C stops after the round at hand and saves it."""
        with Interrupts() as interrupts:
            if self.flight is not None:
                self.flight.pause = interrupts.pause
            self._go(interrupts)

    def _go(self, interrupts: Interrupts) -> None:
        self.at_once = self._at_once()
        self.divergence = Divergence(self.record)
        # Not a method: a training that knows itself would keep its rows until the garbage collector comes.
        self.blocks = Blocks(self._room(), partial(_is_due, self.schedule, self.rounds))
        if self.done == 0:
            self._write(RoundReport(0, {}), evaluate=True)
        waiting: list[Done] = []
        last = time.perf_counter()
        for steps in self._until_stopped(self._blocks()):
            reports = self._run(steps)
            events: list[list[dict[str, Any]]] = [*([] for _ in steps[1:]), self.engine.events()]
            self.done = steps[-1].number + 1
            # The previous rounds are written while these compute.
            waiting = self._finish(waiting)
            now = time.perf_counter()
            each = zip(steps, reports, events, strict=True)
            waiting = [Done(step, said, happened, (now - last) / len(steps)) for step, said, happened in each]
            last = now
            asked = interrupts.asked  # once: between two readings the signal may arrive
            self.blocks.hurried = asked
            if _is_due(self.schedule, self.rounds, self.done) or asked:
                waiting = self._finish(waiting)
                last = time.perf_counter()
            if asked and self.done < self.rounds and not self.blocks.holds_a_step:
                self.save()
                raise KeyboardInterrupt
        self._finish(waiting)
        if self.stopped:
            self.save()
            raise KeyboardInterrupt
        if self.done < self.rounds:  # the clock has run out
            self.rounds = self.done
            self._write(RoundReport(self.done, {}), evaluate=True)

    def _until_stopped(self, blocks: Iterator[list[Step]]) -> Iterator[list[Step]]:
        """Blocks, until nobody waits for the next one any more: what was done before it is whole."""
        self.stopped = False
        try:
            yield from blocks
        except StoppedWaitingError:
            self.stopped = True

    def _blocks(self) -> Iterator[list[Step]]:
        """Steps that the engine takes at once."""
        first = [] if self.late is None else [self.late]
        later = self.timing.steps(self._draw, self.done + len(first))
        in_time = self._in_time(islice(chain(first, later), self.rounds - self.done))
        if isinstance(self.timing, Synchronous):
            return self.blocks.fresh(in_time, self.at_once)
        return self.blocks.stale(in_time, lambda: self.done)

    def _in_time(self, steps: Iterator[Step]) -> Iterator[Step]:
        """Steps until the clock runs out; the first late one is kept for a run that goes on."""
        self.late = None
        for step in steps:
            if step.time > self.until:
                self.late = step
                return
            yield step

    def _room(self) -> int:
        """How many clients' results may be computed together before the server takes its steps on them."""
        who, algorithm = self.participation, self.setting.algorithm
        looked_at = who.learns or who.asks or self.history.keeps_all or self.setting.stream is not None
        if looked_at or self.flight is not None or algorithm.keeps_uploads or algorithm.decentralized:
            return 1
        return max(1, min(MOST_TOGETHER, MOST_KEPT // (4 * size(self.history.messages[self.done]))))

    def _at_once(self) -> int:
        """How many rounds go to the engine together: several only if nobody looks at what is between them."""
        who = self.participation
        looked_at = who.learns or who.asks or self.history.keeps_all or bool(self.memories)
        alone = looked_at or not isinstance(self.timing, Synchronous)
        every = [n for n in (self.schedule.evaluate_every, self.schedule.checkpoint_every) if n]
        most = 1 if alone else min([self.rounds, *every])
        remembers = type(who).state is not Participation.state  # then no round may be drawn twice
        if most <= 1 or remembers:
            return 1
        cohort = self._cohort(0).clients
        parameters = size(self.history.messages[self.done])
        return min(most, self.engine.rounds_at_once(cohort, parameters)) if len(cohort) else 1

    def save(self) -> None:
        """Save a checkpoint of the run as it is now."""
        if self.folder:
            tree = {
                "state": self.state,
                "memory": self.memories.tensors(),
                "participation": self.participation.state(),
                "timing": self.timing.state(),
                "late": self.late.arrays() if self.late else {},
            }
            self.folder.save_checkpoint(self.done, {**tree, "messages": self.history.older(self.done)})

    def resume(self) -> None:
        """Go back to the newest checkpoint that is whole."""
        assert self.folder is not None
        found = load_checkpoint(self.folder, self.state, self.history.messages[0])
        if found is None:
            self.folder.rewind(-1)
            return
        if found.round > self.rounds:
            raise RunError(
                f"{self.folder.path} has done {found.round} rounds already, more than {self.rounds}; "
                f"ask for at least {found.round}."
            )
        self.done, self.state = found.round, self.engine.place(found.state)
        self.memories.restore(found.memory)
        self.participation.restore(found.participation)
        try:
            self.timing.restore(found.timing)
        except (KeyError, ValueError, IndexError):
            raise RunError(f"{self.folder.path} was made with another timing.") from None
        self.late = Step.of(found.late) if found.late else None
        self.history.restore({} if self.flight is not None else found.messages)  # real jobs are lost
        self.history.add(self.done, self.state)
        self.folder.rewind(self.done)
        for damaged in found.damaged:
            self.record.write_round(
                self.done, {}, events=[{"kind": "damaged checkpoint", "skipped": damaged}]
            )

    def _client_message(self, message: Tree) -> Tree:
        if not self.setting.algorithm.decentralized:
            return message
        return jax.tree.map(lambda leaf: leaf[0], message)

    @property
    def _draw(self) -> Draw:
        draw = partial(Training._cohort, self)
        draw.everyone = isinstance(self.participation, Full)  # type: ignore[attr-defined]
        return draw

    def _cohort(self, number: int) -> Cohort:
        asking = ClientQueries(
            self.setting, self.engine, number, self.state, self.history.messages, self.memories
        )
        turn = RoundContext(number, self.importance, self.setting.seed, asking)
        cohort = check_cohort(self.participation.cohort(turn), len(self.importance))
        self.notes[number] = {**cohort.notes, **asking.asked}
        return cohort

    def _run(self, steps: list[Step]) -> Sequence[Report]:
        """Take the steps and return what their clients reported."""
        if len(steps[0].clients) == 0:
            self.history.add(steps[0].number + 1, self.state)
            self._forget(steps)
            return [{}]
        if self.at_once > 1:
            self.state, several = self.engine.run_several(steps, self.state, self.at_once)
            self.history.add(steps[-1].number + 1, self.state)
            self._forget(steps)
            return several
        told = self.history.start(np.concatenate([step.versions for step in steps]))
        algorithm = self.setting.algorithm
        large = 4 * len(steps[0].clients) * self.parameters > 8 * MOST_KEPT  # only their sum is kept
        alone = steps[0].fresh or large or algorithm.keeps_uploads or algorithm.decentralized
        reports = self._run_alone(steps[0], told) if alone else self._run_stale(steps, told)
        self._forget(steps)
        return reports

    def _run_alone(self, step: Step, told: Messages) -> Sequence[Report]:
        self.state, report = self.engine.run(step, self.state, told, self.memories)
        self.history.add(step.number + 1, self.state)
        self._observe(step, report)
        return [report]

    def _run_stale(self, steps: list[Step], told: Messages) -> Sequence[Report]:
        self.state, messages, reports = self.engine.run_stale(steps, self.state, told, self.memories)
        if len(steps) == 1:
            self.history.add(steps[0].number + 1, self.state)
            self._observe(steps[0], reports[0])
            return reports
        self.history.add_block(steps[0].number + 1, len(steps), messages)
        return reports

    def _observe(self, step: Step, report: Report) -> None:
        if self.participation.learns:
            reports = {name: np.asarray(values) for name, values in report.items()}
            self.participation.observe(step.number, Cohort(step.clients, step.weights), reports)

    def _forget(self, steps: list[Step]) -> None:
        self.history.forget(version for step in steps for version in step.done_with.tolist())

    def _finish(self, rounds: list[Done]) -> list[Done]:
        """Write rounds down, evaluate and save where that is due; nothing is waiting after that."""
        schedule = self.schedule
        for step, said, events, seconds in rounds:
            groups = self.notes.pop(step.number, {})
            report = round_report(step, said, *self.traffic, self.setting.federation.name, groups)
            report.seconds = seconds
            report.events.extend(events)
            done = step.number + 1
            self._write(report, done == self.rounds or _falls_on(done, schedule.evaluate_every))
            if _falls_on(done, schedule.checkpoint_every) and done < self.rounds:
                self.save()
        return []

    def _write(self, report: RoundReport, evaluate: bool) -> None:
        clients = None
        if evaluate:
            metrics, clients = self._evaluate(report.round)
            report.metrics.update(metrics)
            message = self.history.messages[self.done]
            astray = self.divergence.look(report.round, report.metrics, message)
            report.events.extend([*astray, *self._notices(), *self.engine.events()])
        few = {k: group for k, group in report.groups.items() if len(group) <= MOST_LISTED}
        self.record.write_round(report.round, report.metrics, clients, report.events, report.seconds, few)
        if self.observer:
            self.observer(report, max(self.expected, report.round))

    def _notices(self) -> list[dict[str, Any]]:
        """What the algorithm finds unusual in its clients' memories, and was not recorded before."""
        algorithm, seen = self.setting.algorithm, self.memories.seen()
        if type(algorithm).notices is Algorithm.notices or not len(seen):
            return []
        rows = self.setting.federation.train.sizes[seen]
        found = algorithm.notices(self.memories.gather(seen)[0], rows)
        known = [_gist(event) for event in self.record.events()] if found else []
        return [event for event in found if _gist(event) not in known]

    def _evaluate(self, round: int) -> tuple[dict[str, float], dict[str, Any] | None]:
        message, setting = self.history.messages[self.done], self.setting
        place = (self.memories, round, self.judged)
        metrics, clients = evaluation_columns(self.engine, message, *place, setting.federation)
        if setting.algorithm.decentralized:
            metrics |= consensus_columns(self.engine, setting, message, *place)
        return metrics, clients


def _gist(event: Mapping[str, Any]) -> dict[str, Any]:
    """What makes an event that event, whenever it happened: its words and whole numbers."""
    return {k: v for k, v in event.items() if k != "round" and isinstance(v, str | int)}


def _is_due(schedule: Cadence, rounds: int, done: int) -> bool:
    """Whether a run looks at itself or saves itself after `done` rounds."""
    return done == rounds or any(
        _falls_on(done, n) for n in (schedule.evaluate_every, schedule.checkpoint_every)
    )


def _falls_on(round: int, every: int) -> bool:
    return every > 0 and round % every == 0


def _cadence(every: int | None, rounds: int, times: int) -> int:
    """Every how many rounds, when it should happen about that many times unless the user chose."""
    return max(1, rounds // times) if every is None else every
