"""How does a server take a step on work that was done elsewhere?

    visited = what some clients' work comes to             computed by whoever holds their rows
    state   = settled(state, sum of the visited parts)     computed here

A worker with many clients sends one weighted sum. Where single uploads matter, or each client is somewhere
else, uploads are added here, in the order in which the server takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..algorithms import Algorithm
from ..core import pytrees
from ..core.pytrees import Tree
from ..models import Task
from ..timing import Step
from ..typing import Array, Float32s, Int64s
from .base import Messages, Outcome, Report, Setting
from .local.program import Call, Sums, Totals, settled
from .local.stale_block import as_rows, one_cohort
from .memories import Memories
from .programs import cached_program


class Visited(NamedTuple):
    """What the work of some clients comes to, as arrays of the host; single clients are in their order."""

    total: Tree
    start: Tree
    even: Tree
    sums: Sums
    uploads: Tree
    """Each client's upload, zeros for a rejected one; {} where only sums are kept."""
    weights: Tree
    report: Report


class Distributed:
    """An engine whose clients work elsewhere: a subclass says how they are visited and evaluated."""

    setting: Setting

    def place(self, state: Tree) -> Tree:
        """It may lie where it is."""
        return state

    def visit(self, step: Step, told: Messages, memories: Memories, keep: bool) -> Visited:
        """Let the step's clients work; with `keep`, each upload is needed."""
        raise NotImplementedError

    def run(self, step: Step, state: Tree, told: Messages, memories: Memories) -> Outcome:
        """Clients work elsewhere, then the server takes its step here."""
        algorithm = self.setting.algorithm
        keep = algorithm.keeps_uploads or algorithm.decentralized
        done = self.visit(step, each_its_own(told, step, algorithm), memories, keep)
        return Outcome(self.settle(step, state, told, done, told.own), done.report)

    def run_stale(
        self, steps: list[Step], state: Tree, told: Messages, memories: Memories
    ) -> tuple[Tree, Tree, list[Report]]:
        """All the steps' clients work as one cohort; then the server takes its steps in order."""
        whole, ends = one_cohort(steps)
        rows = as_rows(told, len(whole.clients))
        done = self.visit(whole, Messages(rows, True), memories, True)
        messages, reports = [], []
        for step, end in zip(steps, ends.tolist(), strict=True):
            part = slice(end - len(step.clients), end)
            one = added(step, part, done, rows, self.setting)
            state = self.settle(step, state, told, one, True)
            messages.append(self.setting.algorithm.broadcast(self.setting.task, state))
            reports.append(one.report)
        return state, pytrees.stack(messages), reports

    def settle(self, step: Step, state: Tree, told: Messages, done: Visited, own: bool) -> Tree:
        """The server's state after the step."""
        setting = self.setting
        mixing = None if step.weights.ndim == 1 else step.weights.astype(np.float32)
        clients = step.clients.astype(np.int32) if setting.algorithm.keeps_uploads else None
        uploads = done.uploads if jax.tree.leaves(done.uploads) else None
        accepted = np.asarray(done.report["accepted"])
        totals = Totals(done.total, done.start, done.even, done.sums, uploads, done.weights, accepted)
        program = server_program(setting.algorithm, setting.task, own)
        message = None if own or mixing is not None else told.message
        return program(state, message, totals, Call(mixing, None, None, clients), step.number)

    def rounds_at_once(self, cohort: Int64s, parameters: int) -> int:
        """One: the server is here, its clients are not."""
        return 1

    def run_several(self, steps: list[Step], state: Tree, most: int) -> tuple[Tree, list[Report]]:
        """Not here."""
        raise AssertionError("this engine takes one round at a time.")


@cached_program
def server_program(algorithm: Algorithm, task: Task, own: bool) -> Callable[..., Tree]:
    """Compile the server's part of a step: `(state, told, totals, call, round) -> state`."""

    def step(state: Tree, told: Tree, done: Totals, call: Call, round: Any) -> Tree:
        return settled(algorithm, task, state, told, done, call, round, own)

    return jax.jit(step)


def each_its_own(told: Messages, step: Step, algorithm: Algorithm) -> Messages:
    """The messages of the step's clients in their order, where each client has its own."""
    if not algorithm.decentralized or told.own:
        return told
    return Messages(jax.tree.map(lambda leaf: np.asarray(leaf)[step.clients], told.message), True)


def added(step: Step, part: slice, done: Visited, started: Tree, setting: Setting) -> Visited:
    """The uploads of one step's clients, added up with its weights; `part` says which of all they are."""
    report = {name: np.asarray(values)[part] for name, values in done.report.items()}
    accepted = np.asarray(report["accepted"], np.float32)
    uploads, begun = (
        jax.tree.map(lambda leaf: np.asarray(leaf)[part], tree) for tree in (done.uploads, started)
    )
    asked = step.weights.astype(np.float32)
    given = asked * accepted
    importance = setting.federation.importance[step.clients].astype(np.float32) * accepted
    sums = Sums(*(np.float32(values.sum()) for values in (asked, given, accepted, importance)))
    even = _weighted(importance, uploads) if setting.algorithm.sums_by_importance else {}
    return Visited(_weighted(given, uploads), _weighted(given, begun), even, sums, uploads, given, report)


def joined(parts: Sequence[Visited], slots: Sequence[Int64s]) -> Visited:
    """The work of several groups as one: sums add up, and `slots` says where each group's clients are in
    the cohort."""
    total, start, even, sums = jax.tree.map(
        lambda *leaves: np.sum(leaves, axis=0, dtype=leaves[0].dtype), *(part[:4] for part in parts)
    )
    order = np.argsort(np.concatenate(slots), kind="stable")
    uploads, weights, report = jax.tree.map(
        lambda *leaves: np.concatenate(leaves)[order],
        *((part.uploads, part.weights, dict(part.report)) for part in parts),
    )
    return Visited(total, start, even, sums, uploads, weights, report)


def _weighted(weights: Float32s, rows: Tree) -> Tree:
    """sum_i weight_i * row_i, one after the other as in the compiled walk; zero weights bring nothing."""

    def total(leaf: Array) -> Array:
        dtype = jnp.promote_types(leaf.dtype, jnp.float32)
        answer = np.zeros(leaf.shape[1:], dtype)
        for weight, row in zip(weights, leaf, strict=True):
            if weight:
                answer = answer + weight * row
        return answer.astype(dtype)

    return jax.tree.map(total, rows)
