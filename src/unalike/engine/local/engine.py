"""How does one machine run a round as fast as it can?  (The host plans, XLA computes, on all cores.)"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import numpy as np

from ...algorithms import LocalWork
from ...core.pytrees import Tree
from ...data.federation import Split
from ...timing import Step
from ...typing import Array, ClientIds, Float64s, Int64s
from ..base import Messages, OneProcess, Outcome, Report, Setting, engine_registry, root_key
from ..distributed import Visited
from ..memories import Memories
from .batches import plan_batches, rounded_up
from .devices import everywhere, mesh
from .evaluation import Judged, evaluate_shared, judged_rows
from .layout import Layout, assign_to_cores
from .personal_evaluation import evaluate_everyone
from .plan import Plan, stack_plans, write_plan
from .program import Call, Rows, round_program, rounds_program, walk_program
from .rows import Gathered, Placed, Resident
from .stale_block import as_rows, in_order, one_cohort, power_of_two, stale_program

MOST_AT_ONCE = 16
"""Rounds handed over together, at most."""
ASSUMED_SPEED = 6e10
"""Arithmetic operations per second and core, for guessing how long a round takes."""


@engine_registry.add("local")
class LocalEngine(OneProcess):
    """All cores of this machine, or its accelerator (the default)."""

    def __init__(self, setting: Setting, resident: bool | None = None) -> None:
        self.setting = setting
        self.mesh = mesh(setting.devices)
        train = setting.federation.train
        fits = fits_in_memory(train) if resident is None else resident
        self.rows: Resident | Gathered
        self.rows = (
            Resident(train, self.mesh) if fits and not setting.stream else Gathered(train, self.mesh.size)
        )
        self.sizes = train.sizes
        part = setting.part
        self.capacity = rounded_up(int(self.sizes.max()) if part is None else part.largest)
        self.key = jax.device_put(root_key(setting.seed, "client"), everywhere(self.mesh))
        self.importance = setting.federation.importance if part is None else part.importance
        self.numbers = np.arange(len(self.sizes)) if part is None else part.numbers
        self._kept: dict[str, tuple[Int64s, Judged]] = {}

    def place(self, state: Tree) -> Tree:
        """On every device: elsewhere its type would differ, and the program be compiled twice."""
        return jax.device_put(state, everywhere(self.mesh))

    def run(self, step: Step, state: Tree, told: Messages, memories: Memories) -> Outcome:
        """Plan on the host, then start the compiled round; the answer may still be being computed."""
        setting = self.setting
        plan, layout, placed = self.plan(setting.algorithm.work, step.number, step.clients, memories, step)
        own = told.own or setting.algorithm.decentralized
        memory, _ = memories.gather(layout.arrange(step.clients))
        mixing = None if step.weights.ndim == 1 else step.weights.astype(np.float32)
        slot_of_client = (
            layout.slot_of_client.astype(np.int32)
            if setting.algorithm.keeps_uploads or mixing is not None
            else None
        )
        call = Call(
            mixing,
            slot_of_client,
            self.key,
            None if slot_of_client is None else step.clients.astype(np.int32),
        )
        rows = Rows(placed.x, placed.y, placed.weights)
        program = round_program(
            setting.algorithm, setting.task, self.mesh, self.rows.gathered, self.capacity, setting.watch, own
        )
        sent = self.sent(told, layout, step.clients)
        state, memory, report = program(state, sent, rows, plan, memory, call)
        if memories:
            memories.scatter(
                step.clients, jax.tree.map(lambda leaf: layout.collect(np.asarray(leaf)), memory)
            )
        return Outcome(state, {name: _Collected(values, layout) for name, values in report.items()})

    def visit(self, step: Step, told: Messages, memories: Memories, keep: bool) -> Visited:
        """Only the clients' part of a step, for a server that is elsewhere; with `keep`, each upload."""
        setting, algorithm = self.setting, self.setting.algorithm
        plan, layout, placed = self.plan(
            algorithm.work, step.number, step.clients, memories, step, room=power_of_two
        )
        own = told.own or algorithm.decentralized
        memory, _ = memories.gather(layout.arrange(step.clients))
        program = walk_program(
            algorithm, setting.task, self.mesh, self.rows.gathered, self.capacity, setting.watch, own, keep
        )
        rows = Rows(placed.x, placed.y, placed.weights)
        done = program(self.sent(told, layout, step.clients), rows, plan, memory, self.key)
        own_parts = (done.memory, done.uploads, done.weights, done.report)
        memory, uploads, weights, report = jax.tree.map(
            lambda leaf: layout.collect(np.asarray(leaf)), own_parts
        )
        memories.scatter(step.clients, memory)
        total, start, even, sums = jax.tree.map(np.asarray, done[:4])
        return Visited(total, start, even, sums, uploads, weights, report)

    def run_stale(
        self, steps: list[Step], state: Tree, told: Messages, memories: Memories
    ) -> tuple[Tree, Tree, list[Report]]:
        """All the steps' clients as one cohort; then the server takes its steps in order."""
        setting = self.setting
        whole, ends = one_cohort(steps)
        numbers = whole.number + np.searchsorted(ends, np.arange(len(whole.clients)), side="right")
        plan, layout, placed = self.plan(
            setting.algorithm.work, whole.number, whole.clients, memories, whole, rounds=numbers
        )
        memory, _ = memories.gather(layout.arrange(whole.clients))
        sent = jax.tree.map(layout.arrange, as_rows(told, len(whole.clients)))
        order = in_order(whole, ends, numbers, layout, self.importance)
        program = stale_program(
            setting.algorithm, setting.task, self.mesh, self.rows.gathered, self.capacity, setting.watch
        )
        rows = Rows(placed.x, placed.y, placed.weights)
        state, messages, memory, report = program(state, sent, rows, plan, memory, order, self.key)
        if memories:
            kept = jax.tree.map(lambda leaf: layout.collect(np.asarray(leaf)), memory)
            memories.scatter(whole.clients, kept)
        values = {name: _Collected(column, layout) for name, column in report.items()}
        parts = [slice(a, b) for a, b in pairwise([0, *ends.tolist()])]
        return state, messages, [{k: _Part(v, part) for k, v in values.items()} for part in parts]

    def rounds_at_once(self, cohort: Int64s, parameters: int) -> int:
        """As many rounds as take about a tenth of a second, if the host has nothing to do between them.

        The time is guessed from the arithmetic, not measured, so that a repeated run takes the same path.
        """
        algorithm = self.setting.algorithm
        if algorithm.decentralized or algorithm.keeps_uploads or self.rows.gathered or self.setting.watch:
            return 1
        batches = plan_batches(
            algorithm.work, self.sizes[cohort], cohort, 0, self.setting.seed, self.capacity
        )
        samples = int(batches.steps.sum()) * batches.positions.shape[-1]
        seconds = 6 * samples * parameters / (ASSUMED_SPEED * self.mesh.size)
        return int(np.clip(0.1 / max(seconds, 1e-9), 1, MOST_AT_ONCE))

    def run_several(self, steps: list[Step], state: Tree, most: int) -> tuple[Tree, list[Report]]:
        """Plan some rounds, then start them as one program; the answer may still be being computed."""
        setting, work = self.setting, self.setting.algorithm.work
        nothing = Memories({}, 0)
        plans, layouts, placed = zip(
            *(self.plan(work, step.number, step.clients, nothing, step) for step in steps), strict=True
        )
        program = rounds_program(setting.algorithm, setting.task, self.mesh, self.capacity)
        rows = Rows(placed[0].x, placed[0].y, None)
        count = np.array([len(steps)], np.int32)
        state, reports = program(state, rows, stack_plans(plans, most), count, self.key)
        return state, [
            {name: _Collected(values, layout, k) for name, values in reports.items()}
            for k, layout in enumerate(layouts)
        ]

    def evaluate(
        self,
        message: Tree,
        memories: Memories,
        split: str,
        round: int,
        clients: ClientIds | None = None,
    ) -> dict[str, Float64s]:
        """One flat pass over all rows for a shared model; a visit to each client where predictors differ."""
        setting = self.setting
        chosen = np.arange(len(setting.federation)) if clients is None else clients
        if setting.algorithm.personalized or setting.algorithm.decentralized:
            part: Split = getattr(setting.federation, split)
            return evaluate_everyone(self, message, memories, part, round, chosen)
        return evaluate_shared(setting, self.mesh, message, self._judged(split, chosen))

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
    ) -> tuple[Plan, Layout, Placed]:
        """Who works on which core, on which rows, in which batches; `load` is work beside the batches,
        `rounds` each client's round where these differ (then sizes vary, and few shapes are used), `room` how
        many places a core keeps for so many clients."""
        setting = self.setting
        selection = setting.stream.select(round, clients) if setting.stream else None
        sizes = np.diff(selection.offsets) if selection else self.sizes[clients]
        jobs = round if step is None or step.jobs is None else step.jobs
        numbers = self.numbers[clients]
        batches = plan_batches(work, sizes, numbers, jobs, setting.seed, self.capacity)
        room = room or (rounded_up if rounds is None else power_of_two)
        layout = assign_to_cores(batches.steps + load, self.mesh.size, room)
        placed = self.rows.place(clients, layout, selection)
        weights = np.ones(len(clients)) if step is None or step.weights.ndim > 1 else step.weights
        plan = write_plan(
            layout,
            batches,
            round if rounds is None else rounds,
            weights,
            self.importance[clients],
            client=numbers,
            start=placed.start,
            size=sizes,
            job=np.broadcast_to(jobs, len(clients)),
            fresh=memories.fresh(clients),
        )
        return plan, layout, placed

    def sent(self, told: Messages, layout: Layout, clients: ClientIds) -> Tree:
        """Messages as the compiled program takes them: the one for all, or each client's in core order."""
        if self.setting.algorithm.decentralized and not told.own:
            own = layout.arrange(clients)
            return jax.tree.map(lambda leaf: np.asarray(leaf)[own], told.message)
        return jax.tree.map(layout.arrange, told.message) if told.own else told.message

    def _judged(self, name: str, clients: ClientIds) -> Judged:
        """The rows to evaluate on; those of the last call are kept, because most calls ask for the same."""
        if name not in self._kept or not np.array_equal(self._kept[name][0], clients):
            part: Split = getattr(self.setting.federation, name)
            self._kept[name] = (clients.copy(), judged_rows(part, clients, self.mesh))
        return self._kept[name][1]


def fits_in_memory(split: Split) -> bool:
    """Whether the rows take at most a quarter of this machine's memory."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        total = 8 << 30
    return split.x.nbytes + split.y.nbytes <= total // 4


class _Collected:
    """A device array that comes to the host, in cohort order, when it is asked for."""

    def __init__(self, values: jax.Array, layout: Layout, round: int | None = None) -> None:
        self._values, self._layout, self._round = values, layout, round
        self._answer: Array | None = None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        if self._answer is None:
            values = np.asarray(self._values)
            self._answer = self._layout.collect(values if self._round is None else values[self._round])
        return self._answer if dtype is None else self._answer.astype(dtype)


class _Part:
    """Some clients of such an array."""

    def __init__(self, whole: _Collected, part: slice) -> None:
        self._whole, self._part = whole, part

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self._whole.__array__(dtype)[self._part]
