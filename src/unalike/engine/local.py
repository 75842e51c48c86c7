"""How does one machine run a round as fast as it can?  (The host plans, XLA computes, on all cores.)"""

from __future__ import annotations

import os

import jax
import numpy as np
from numpy.typing import NDArray

from ..data.federation import Split
from ..timing import Step
from ..trees import Tree
from .base import Outcome, Setting, engines, root_key
from .batches import Batches, plan_batches, rounded_up
from .devices import everywhere, mesh
from .evaluation import evaluate_everyone, evaluate_shared
from .layout import Layout, deal
from .memories import Memories
from .program import Plan, Rows, round_program
from .rows import Gathered, Placed, Resident


@engines.add("local")
class LocalEngine:
    """All cores of this machine, or its accelerator (the default)."""

    def __init__(self, setting: Setting, resident: bool | None = None) -> None:
        self.setting = setting
        self.mesh = mesh(setting.devices)
        self.cores = self.mesh.size
        train = setting.federation.train
        fits = fits_in_memory(train) if resident is None else resident
        self.rows: Resident | Gathered
        self.rows = Resident(train, self.mesh) if fits and not setting.stream else Gathered(train, self.cores)
        self.sizes = train.sizes
        self.widest = int(self.sizes.max())
        self.key = jax.device_put(root_key(setting.seed, "client"), everywhere(self.mesh))
        self.importance = setting.federation.importance

    def run(self, step: Step, state: Tree, messages: list[Tree], memories: Memories) -> Outcome:
        """Plan on the host, then start the compiled round; the answer may still be being computed."""
        algorithm, task = self.setting.algorithm, self.setting.task
        plan, layout, placed = self._plan(step, memories)
        memory, _ = memories.gather(layout.arrange(step.clients))
        program = round_program(algorithm, task, self.mesh, self.rows.gathered, self._capacity())
        mixing = None if step.weights.ndim == 1 else _matrix(step.weights, layout)
        share = np.float32(self.importance[step.clients].sum())
        state, memory, report = program(
            state,
            self._messages(messages, layout, step.clients),
            Rows(placed.x, placed.y, placed.weights),
            plan,
            mixing,
            memory,
            share,
            np.int32(step.number),
            self.key,
        )
        if memories:
            memories.scatter(
                step.clients, jax.tree.map(lambda leaf: layout.collect(np.asarray(leaf)), memory)
            )
        return Outcome(state, {name: _Collected(values, layout) for name, values in report.items()})

    def evaluate(
        self,
        message: Tree,
        memories: Memories,
        split: str,
        round: int,
        clients: NDArray[np.int64] | None = None,
    ) -> dict[str, NDArray[np.float64]]:
        """One flat pass over all rows for a shared model; a visit to each client where predictors differ."""
        if clients is None:
            clients = np.arange(len(self.setting.federation))
        if self.setting.algorithm.personalised or self.setting.algorithm.decentralised:
            return evaluate_everyone(self, message, memories, split, round, clients)
        return evaluate_shared(self.setting, self.mesh, message, split, clients)

    def _capacity(self) -> int:
        return rounded_up(self.widest)

    def _plan(self, step: Step, memories: Memories) -> tuple[Plan, Layout, Placed]:
        setting, clients = self.setting, step.clients
        selection = setting.stream.select(step.number, clients) if setting.stream else None
        sizes = np.diff(selection.offsets) if selection else self.sizes[clients]
        batches = plan_batches(
            setting.algorithm.work, sizes, clients, step.number, setting.seed, self._capacity()
        )
        layout = deal(batches.steps, self.cores)
        placed = (
            self.rows.place(clients, layout, selection)
            if isinstance(self.rows, Gathered)
            else self.rows.place(clients, layout)
        )
        _, fresh = memories.gather(clients)
        versions = np.searchsorted(np.unique(step.versions), step.versions)
        weights = step.weights if step.weights.ndim == 1 else np.ones(len(clients))
        return make_plan(layout, placed, clients, sizes, batches, versions, fresh, weights), layout, placed

    def _messages(self, messages: list[Tree], layout: Layout, clients: NDArray[np.int64]) -> list[Tree]:
        if not self.setting.algorithm.decentralised:
            return messages
        return [jax.tree.map(lambda leaf: np.asarray(leaf)[layout.arrange(clients)], messages[0])]


def make_plan(
    layout: Layout,
    placed: Placed,
    clients: NDArray[np.int64],
    sizes: NDArray[np.int64],
    batches: Batches,
    versions: NDArray[np.int64],
    fresh: NDArray[np.bool_],
    weights: NDArray[np.float64],
) -> Plan:
    """The cohort's work in core order."""
    columns = [layout.arrange(values) for values in (clients, sizes, batches.steps, versions, fresh)]
    columns.insert(1, placed.start)
    numbers = np.stack(columns, axis=1).astype(np.int32)
    return Plan(
        numbers, layout.arrange(weights).astype(np.float32), layout.arrange(batches.positions), layout.taken
    )


def fits_in_memory(split: Split) -> bool:
    """Whether the rows take at most a quarter of this machine's memory."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        total = 8 << 30
    return split.x.nbytes + split.y.nbytes <= total // 4


def _matrix(weights: NDArray[np.float64], layout: Layout) -> NDArray[np.float32]:
    matrix = np.zeros((len(weights), len(layout.place)), np.float32)
    matrix[:, layout.home] = weights
    return matrix


class _Collected:
    """A device array that comes to the host, in cohort order, when it is asked for."""

    def __init__(self, values: jax.Array, layout: Layout) -> None:
        self._values, self._layout = values, layout

    def __array__(self, dtype: object = None, copy: object = None) -> NDArray[np.float32]:
        return self._layout.collect(np.asarray(self._values))
