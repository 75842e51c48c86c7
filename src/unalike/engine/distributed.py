"""Distributed engines (Ray, Flower): the server's step on work done elsewhere.

    visited = what some clients' work comes to               computed by whoever holds their rows
    state   = server_step(state, the visited parts merged)   computed here

A worker with many clients sends one tally. Where single uploads matter, or each client is somewhere else,
uploads are added here, in the order in which the server takes them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import jax
import numpy as np

from ..aggregation.base import Uploads
from ..aggregation.server_step import ClientReplies, Server, server_step
from ..aggregation.tally import Tally, empty_tally
from ..algorithms import Messages
from ..core import pytrees
from ..timing import Step
from ..typing import Int64s, Message, PyTree, State
from .base import Engine, Outcome, Report, root_key
from .blocks import one_cohort
from .memories import Memories
from .traced_rates import Rates, fill_rates, rated_program


class Visited(NamedTuple):
    """What the work of some clients comes to, as arrays of the host; single clients are in their order."""

    tally: Tally
    uploads: Uploads | None
    """Each client's upload; None where only sums are kept."""
    report: Report


class Distributed(Engine):
    """An engine whose clients work elsewhere: a subclass says how they are visited and evaluated."""

    @abstractmethod
    def visit(self, step: Step, messages: Messages, memories: Memories, keep: bool) -> Visited:
        """Let the step's clients work; with `keep`, each upload is needed."""

    def run_step(self, step: Step, state: State, messages: Messages, memories: Memories) -> Outcome:
        """Clients work elsewhere, then the server takes its step here."""
        keep = self.setting.server.keeps_uploads(step.weights.ndim > 1)
        done = self.visit(step, messages, memories, keep)
        state, report = self.settle(step, state, messages, done)
        return Outcome(state, [report])

    def run_stale(self, steps: list[Step], state: State, messages: Messages, memories: Memories) -> Outcome:
        """All the steps' clients work as one cohort; then the server takes its steps in order."""
        whole, ends = one_cohort(steps)
        each = messages.for_each(len(whole.clients))
        done = self.visit(whole, each, memories, True)
        starts, broadcasts, reports = each.stacked(), [], []
        for step, end in zip(steps, ends.tolist(), strict=True):
            part = slice(end - len(step.clients), end)
            one = part_of(done, part, row_slice(starts, part), self.setting.server)
            state, report = self.settle(step, state, each, one)
            broadcasts.append(self.setting.algorithm.broadcast(self.setting.task, state))
            reports.append(report)
        return Outcome(state, reports, pytrees.stack(broadcasts))

    def settle(self, step: Step, state: State, messages: Messages, done: Visited) -> tuple[State, Report]:
        """The server's state after the step, and what is recorded of its clients."""
        server, uploads = self.setting.server, done.uploads
        if uploads is not None and server.aggregator.needs.combine:
            uploads = uploads._replace(start=messages.for_each(len(step.clients)).stacked())
        matrix = None if step.weights.ndim == 1 else step.weights.astype(np.float32)
        heaviest = np.float32(np.abs(step.weights).max())
        sent = ClientReplies(done.tally, uploads, matrix, heaviest)
        message = None if messages.per_client else messages.tree
        key = self.server_key() if server.aggregator.needs_key else None
        state, judgment = server_program(server)(state, sent, message, step.number, key)
        return state, {**done.report, **judgment}

    def server_key(self) -> jax.Array:
        """Where the server's own randomness starts."""
        return root_key(self.setting.seed, "aggregator")


@rated_program
def server_program(server: Server) -> Callable[..., tuple[State, PyTree]]:
    """Compile the server's part of a step: `(state, sent, message, round, key) -> (state, judgment)`."""

    def step(rates: Rates, *given: PyTree) -> tuple[State, PyTree]:
        return server_step(fill_rates(server, rates), *given)

    return jax.jit(step)


def add_on_host(uploads: Uploads, server: Server, starts: Message | None) -> Tally:
    """The tally of uploads that are here, added one after the other as in the compiled walk; `starts` are
    the messages of each, where they differ."""
    start = None if starts is None else pytrees.row(starts, 0)
    by_importance = server.algorithm.needs.importance_sum
    tally = empty_tally(pytrees.row(uploads.upload, 0), start, by_importance, np.zeros)
    for i, accepted in enumerate(np.asarray(uploads.accepted, np.float32)):
        if accepted:
            upload, start = pytrees.row(uploads.upload, i), None if starts is None else pytrees.row(starts, i)
            tally = tally.add(upload, start, uploads.weight[i], uploads.importance[i], accepted)
        else:
            tally = tally._replace(requested_weight=tally.requested_weight + uploads.weight[i])
    return tally


def part_of(done: Visited, part: slice, starts: Message, server: Server) -> Visited:
    """The work of some of the clients whose uploads are here; `starts` are their messages."""
    assert done.uploads is not None, "uploads of single clients are needed."
    uploads = row_slice(done.uploads, part)
    report = {name: np.asarray(values)[part] for name, values in done.report.items()}
    return Visited(add_on_host(uploads, server, starts), uploads, report)


def join(parts: Sequence[Visited], places: Sequence[Int64s]) -> Visited:
    """The work of several groups as one: tallies merge, and `places` says where each group's clients are in
    the cohort."""
    order = np.argsort(np.concatenate(places), kind="stable")
    uploads, report = jax.tree.map(
        lambda *leaves: np.concatenate(leaves)[order],
        *((part.uploads, dict(part.report)) for part in parts),
    )
    return Visited(reduce(Tally.merge, (part.tally for part in parts)), uploads, report)


def row_slice(tree: PyTree, part: slice) -> PyTree:
    """Some rows of every leaf."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[part], tree)
