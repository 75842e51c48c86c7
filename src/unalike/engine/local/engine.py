"""The local engine: the host plans a round, XLA computes it on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import DTypeLike

from ...aggregation.base import Uploads
from ...algorithms import LocalWork, Messages
from ...core.pytrees import size
from ...data.federation import Split
from ...timing import Step
from ...typing import Array, ClientIds, Float64s, Int64s, Memory, Message, State
from ..base import Engine, Outcome, Report, Setting, engine_registry, root_key
from ..blocks import Block, BlockLimits, one_cohort
from ..distributed import Visited
from ..memories import Memories
from .batches import lengthen_batches, plan_batches, power_of_two, round_up
from .compiled_round import (
    RoundInputs,
    Samples,
    SingleUploads,
    Visit,
    round_program,
    rounds_program,
    walk_program,
)
from .devices import everywhere, mesh
from .evaluation import EvaluationRows, evaluate_shared, place_evaluation_rows
from .layout import Layout, assign_to_cores
from .personal_evaluation import evaluate_everyone
from .plan import Plan, stack_plans, write_plan
from .rows import GatheredRows, PlacedRows, Resident
from .stale_block import in_order, stale_program

MOST_AT_ONCE = 16
"""Rounds handed over together, at most."""
ASSUMED_SPEED = 6e10
"""Arithmetic operations per second and core, for guessing how long a round takes."""


@engine_registry.add("local")
class LocalEngine(Engine):
    """All cores of this machine, or its accelerator (the default)."""

    def __init__(self, setting: Setting, resident: bool | None = None) -> None:
        self.setting = setting
        self.mesh = mesh(setting.devices)
        train = setting.federation.train
        fits = fits_in_memory(train) if resident is None else resident
        as_stored = setting.stream is None or not setting.stream.changes_rows
        self.rows: Resident | GatheredRows
        self.rows = Resident(train, self.mesh) if fits and as_stored else GatheredRows(train, self.mesh.size)
        self.sizes = train.sizes
        part = setting.part
        self.capacity = round_up(setting.most_rows())
        self.key = jax.device_put(root_key(setting.seed, "client"), everywhere(self.mesh))
        self.importance = setting.federation.importance if part is None else part.importance
        self.numbers = np.arange(len(self.sizes)) if part is None else part.numbers
        self._kept: dict[str, tuple[Split, Int64s, EvaluationRows]] = {}

    def place(self, state: State) -> State:
        """On every device: elsewhere its type would differ, and the program be compiled twice."""
        return jax.device_put(state, everywhere(self.mesh))

    def run_step(self, step: Step, state: State, messages: Messages, memories: Memories) -> Outcome:
        """Plan on the host, then start the compiled round; the answer may still be being computed."""
        planned = self._prepare(step, messages, memories)
        visit, matrix = self._visit(messages.per_client), step.weights.ndim > 1
        program = round_program(visit, self.mesh, self.rows.gathered, matrix)
        call = self._call(step, planned.layout)
        state, memory, report, judgment = program(state, *planned.given, call)
        self._remember(memories, step.clients, planned.layout, memory)
        collected = {name: _Collected(values, planned.layout) for name, values in report.items()}
        return Outcome(state, [{**collected, **judgment}])

    def visit(self, step: Step, messages: Messages, memories: Memories, keep: bool) -> Visited:
        """Only the clients' part of a step, for a server that is elsewhere; with `keep`, each upload."""
        planned = self._prepare(step, messages, memories, room=power_of_two)
        program = walk_program(self._visit(messages.per_client), self.mesh, self.rows.gathered, keep)
        done = program(*planned.given, self.key)
        memory, kept, report = jax.tree.map(
            lambda leaf: planned.layout.collect(np.asarray(leaf)), (done.memory, done.kept, done.report)
        )
        memories.scatter(step.clients, memory)
        numbers = step.clients.astype(np.int32)
        uploads = Uploads(*kept, report["accepted"], numbers) if isinstance(kept, SingleUploads) else None
        return Visited(jax.tree.map(np.asarray, done.tally), uploads, report)

    def run_stale(self, steps: list[Step], state: State, messages: Messages, memories: Memories) -> Outcome:
        """All the steps' clients as one cohort; then the server takes its steps in order."""
        whole, ends = one_cohort(steps)
        numbers = whole.number + np.searchsorted(ends, np.arange(len(whole.clients)), side="right")
        planned = self._prepare(whole, messages.for_each(len(whole.clients)), memories, rounds=numbers)
        program = stale_program(self._visit(per_client=True), self.mesh, self.rows.gathered)
        order = in_order(ends, numbers, planned.layout)
        state, broadcasts, memory, report = program(state, *planned.given, order, self.key)
        self._remember(memories, whole.clients, planned.layout, memory)
        values = {name: _Collected(column, planned.layout) for name, column in report.items()}
        parts = [slice(a, b) for a, b in pairwise([0, *ends.tolist()])]
        reports: list[Report] = [{k: _Part(v, part) for k, v in values.items()} for part in parts]
        return Outcome(state, reports, broadcasts)

    def limits(self, cohort: ClientIds, message: Message) -> BlockLimits:
        """As many rounds as take about a tenth of a second, if the host has nothing to do between them.

        The time is guessed from the arithmetic, not measured, so that a repeated run takes the same path.
        """
        stale, setting = super().limits(cohort, message).clients, self.setting
        work = setting.algorithm.work
        stepwise = setting.algorithm.needs.uploads or setting.aggregator.stepwise
        if stepwise or self.rows.gathered or setting.watch or not len(cohort):
            return BlockLimits(1, stale)
        most = np.minimum(self.sizes[cohort], setting.most_rows())
        batches = plan_batches(work, most, cohort, 0, setting.seed, self.capacity)
        samples = int(batches.steps.sum()) * batches.positions.shape[-1]
        seconds = 6 * samples * size(message) / (ASSUMED_SPEED * self.mesh.size)
        return BlockLimits(int(np.clip(0.1 / max(seconds, 1e-9), 1, MOST_AT_ONCE)), stale)

    def run_rounds(self, block: Block, state: State, memories: Memories) -> Outcome:
        """Plan some rounds, then start them as one program; the answer may still be being computed."""
        plans, layouts, placed = zip(*self._plans(block.steps), strict=True)
        program = rounds_program(self._visit(per_client=False), self.mesh)
        rows = Samples(placed[0].x, placed[0].y, None)
        count = np.array([len(block.steps)], np.int32)
        state, reports = program(state, rows, stack_plans(plans, block.rounds), count, self.key)
        each: list[Report] = [
            {name: _Collected(values, layout, k) for name, values in reports.items()}
            for k, layout in enumerate(layouts)
        ]
        return Outcome(state, each)

    def _visit(self, per_client: bool) -> Visit:
        """What one client does, in the compiled program."""
        return Visit(self.setting.server, self.capacity, self.setting.watch, per_client)

    def _plans(self, steps: list[Step]) -> list[tuple[Plan, Layout, PlacedRows]]:
        """The plans of several rounds with as many slots each: slots are cut into equal parts for the
        cores."""
        work, nothing = self.setting.algorithm.work, Memories(Memory({}), 0)
        plans = [self.plan(work, step.number, step.clients, nothing, step) for step in steps]
        slots = max(plan.slots for plan, _, _ in plans)
        room = slots // self.mesh.size
        return [
            planned
            if planned[0].slots == slots
            else self.plan(work, step.number, step.clients, nothing, step, room=lambda _: room)
            for step, planned in zip(steps, plans, strict=True)
        ]

    def _prepare(self, step: Step, messages: Messages, memories: Memories, **options: Any) -> _Prepared:
        """What the clients of a step need: their messages, rows, plan and memories, on their cores."""
        plan, layout, placed = self.plan(
            self.setting.algorithm.work, step.number, step.clients, memories, step, **options
        )
        memory, _ = memories.gather(layout.arrange(step.clients))
        rows = Samples(placed.x, placed.y, placed.weights)
        return _Prepared((self.sent(messages, layout), rows, plan, memory), layout)

    def _call(self, step: Step, layout: Layout) -> RoundInputs:
        matrix = None if step.weights.ndim == 1 else step.weights.astype(np.float32)
        setting = self.setting
        keep = setting.server.keeps_uploads(matrix is not None)
        slots = layout.slot_of_client.astype(np.int32) if keep else None
        clients = step.clients.astype(np.int32) if keep else None
        if not setting.aggregator.needs_key:
            return RoundInputs(matrix, slots, self.key, clients)
        heaviest = np.float32(np.abs(step.weights).max())
        return RoundInputs(matrix, slots, self.key, clients, heaviest, root_key(setting.seed, "aggregator"))

    def _remember(self, memories: Memories, clients: ClientIds, layout: Layout, memory: Memory) -> None:
        if memories:
            memories.scatter(clients, jax.tree.map(lambda leaf: layout.collect(np.asarray(leaf)), memory))

    def evaluate(
        self,
        messages: Messages,
        memories: Memories,
        split: str,
        round: int,
        clients: ClientIds | None = None,
    ) -> dict[str, Float64s]:
        """One flat pass over all rows for a shared model; a visit to each client where predictors differ."""
        setting = self.setting
        chosen = np.arange(len(setting.federation)) if clients is None else clients
        if setting.algorithm.personalized or messages.per_client:
            return self.evaluate_rows(messages, memories, setting.split(split, round), round, chosen)
        judged = self._judged(split, setting.split(split, round), chosen)
        return evaluate_shared(setting, self.mesh, messages.tree, judged)

    @property
    def judges_rows(self) -> bool:
        return True

    def evaluate_rows(
        self, messages: Messages, memories: Memories, part: Split, round: int, clients: ClientIds
    ) -> dict[str, Float64s]:
        """The same on any rows; nothing of them is kept on the devices."""
        setting = self.setting
        if setting.algorithm.personalized or messages.per_client:
            return evaluate_everyone(self, messages, memories, part, round, clients)
        return evaluate_shared(
            setting, self.mesh, messages.tree, place_evaluation_rows(part, clients, self.mesh)
        )

    def plan(
        self,
        work: LocalWork,
        round: int,
        clients: ClientIds,
        memories: Memories,
        step: Step | None = None,
        load: Int64s | int = 0,
        rounds: Int64s | None = None,
        room: Callable[[int], int] | None = None,
    ) -> tuple[Plan, Layout, PlacedRows]:
        """Who works on which core, on which rows, in which batches; `load` is work beside the batches,
        `rounds` each client's round where these differ (then sizes vary, and few shapes are used), `room` how
        many places a core keeps for so many clients."""
        setting = self.setting
        selection = setting.stream.select(round, clients) if setting.stream else None
        sizes = np.diff(selection.offsets) if selection else self.sizes[clients]
        jobs = round if step is None or step.jobs is None else step.jobs
        numbers = self.numbers[clients]
        batches = plan_batches(work, sizes, numbers, jobs, setting.seed, self.capacity)
        if setting.part is not None and setting.part.steady:
            batches = lengthen_batches(batches, work, setting.part.largest, self.capacity)
        room = room or (round_up if rounds is None else power_of_two)
        layout = assign_to_cores(batches.steps + load, self.mesh.size, room)
        placed = self.rows.place(clients, layout, selection)
        weights = np.ones(len(clients)) if step is None or step.weights.ndim > 1 else step.weights
        plan = write_plan(
            layout,
            batches,
            round if rounds is None else rounds,
            weights,
            (self.importance if setting.stream is None else setting.importance(round))[clients],
            placed,
            client=numbers,
            size=sizes,
            job=np.broadcast_to(jobs, len(clients)),
            fresh=memories.fresh(clients),
        )
        return plan, layout, placed

    def sent(self, messages: Messages, layout: Layout) -> Message:
        """Messages as the compiled program takes them: the one for all, or each client's in core order."""
        if messages.rows is None:
            return messages.tree
        rows = layout.arrange(messages.rows)
        return jax.tree.map(lambda leaf: np.asarray(leaf)[rows], messages.tree)

    def _judged(self, name: str, part: Split, clients: ClientIds) -> EvaluationRows:
        """The rows to evaluate on; those of the last call are kept, because most calls ask for the same."""
        kept = self._kept.get(name)
        if kept is None or kept[0] is not part or not np.array_equal(kept[1], clients):
            kept = self._kept[name] = (part, clients.copy(), place_evaluation_rows(part, clients, self.mesh))
        return kept[2]


def fits_in_memory(split: Split) -> bool:
    """Whether the rows take at most a quarter of this machine's memory."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        total = 8 << 30
    return split.x.nbytes + split.y.nbytes <= total // 4


class _Prepared(NamedTuple):
    """What a step's clients need, as programs take it, and where each is computed."""

    given: tuple[Message, Samples, Plan, Memory]
    layout: Layout


class _Collected:
    """A device array that comes to the host, in cohort order, when it is asked for."""

    def __init__(self, values: jax.Array, layout: Layout, round: int | None = None) -> None:
        self._values, self._layout, self._round = values, layout, round
        self._answer: Array | None = None

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        if self._answer is None:
            values = np.asarray(self._values)
            self._answer = self._layout.collect(values if self._round is None else values[self._round])
        return self._answer if dtype is None else self._answer.astype(dtype)


class _Part:
    """Some clients of such an array."""

    def __init__(self, whole: _Collected, part: slice) -> None:
        self._whole, self._part = whole, part

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return self._whole.__array__(dtype)[self._part]
