"""Where is the bug?  (One client at a time, not compiled; an error names the round and the client.)

The answers equal those of the local engine within float tolerance, so a run that misbehaves can be repeated
here and stepped through with an ordinary debugger.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..aggregation.observed_updates import watched
from ..aggregation.upload_checks import fault
from ..algorithms import Aggregate, ClientData, LocalWork, Reply
from ..core import pytrees
from ..core.pixels import as_floats
from ..core.pytrees import Tree
from ..data.federation import Split
from ..errors import UnalikeError
from ..models.metrics import stacked
from ..timing import Step
from ..typing import Array, ClientIds, Float64s, Int64s
from .base import Messages, OneProcess, Outcome, Report, Setting, engine_registry, reply_template, root_key
from .local.batches import plan_batches, rounded_up
from .local.layout import assign_to_cores
from .local.program import mix, step_unless_empty
from .local.rows import Gathered
from .memories import Memories


class ClientError(UnalikeError):
    """A client's own code failed; the original error is the cause."""


@engine_registry.add("debug")
class DebugEngine(OneProcess):
    """One client at a time, not compiled; an error names the round and the client."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.sizes = setting.federation.train.sizes
        self.capacity = rounded_up(int(self.sizes.max()))
        self.key = root_key(setting.seed, "client")
        self._expected: Tree = None

    def run(self, step: Step, state: Tree, told: Messages, memories: Memories) -> Outcome:
        """Visit each client of the step in turn, then aggregate."""
        algorithm, task = self.setting.algorithm, self.setting.task
        sent = [self._sent(told, i, int(client)) for i, client in enumerate(step.clients)]
        uploads, accepted, reports = [], [], []
        with jax.disable_jit():
            for i, client in enumerate(step.clients):
                reply = self._visit(step, i, sent[i], memories)
                reason = self._fault(reply.upload, sent[i])
                if reason:
                    warnings.warn(
                        f"round {step.number}, client {self._name(client)}: upload {reason}; left out.",
                        stacklevel=2,
                    )
                else:
                    memories.scatter(
                        np.array([client]), jax.tree.map(lambda leaf: np.asarray(leaf)[None], reply.memory)
                    )
                uploads.append(pytrees.zeros_like(self._expected) if reason else reply.upload)
                accepted.append(0.0 if reason else 1.0)
                reports.append({name: np.asarray(value) for name, value in reply.report.items()})
            mixed = self._mixed(step, pytrees.stack(uploads), jnp.array(accepted), sent)
            state = step_unless_empty(algorithm, task, state, mixed)
        report = {name: np.array([r[name] for r in reports], np.float32) for name in reports[0]}
        return Outcome(state, {"accepted": np.array(accepted, np.float32), **report})

    def run_stale(
        self, steps: list[Step], state: Tree, told: Messages, memories: Memories
    ) -> tuple[Tree, Tree, list[Report]]:
        """One step after the other."""
        algorithm, task = self.setting.algorithm, self.setting.task
        messages, reports, done = [], [], 0
        for step in steps:
            some = slice(done, done + len(step.clients))
            own = Messages(jax.tree.map(lambda leaf: leaf[some], told.message), True) if told.own else told  # noqa: B023
            state, report = self.run(step, state, own, memories)
            messages.append(algorithm.broadcast(task, state))
            reports.append(report)
            done = some.stop
        return state, pytrees.stack(messages), reports

    def rounds_at_once(self, cohort: Int64s, parameters: int) -> int:
        """One: every round is to be seen by itself."""
        return 1

    def run_several(self, steps: list[Step], state: Tree, most: int) -> tuple[Tree, list[Report]]:
        """Not here."""
        raise AssertionError("the debug engine takes one round at a time.")

    def evaluate(
        self,
        message: Tree,
        memories: Memories,
        split: str,
        round: int,
        clients: ClientIds | None = None,
    ) -> dict[str, Float64s]:
        """Visit each client in turn."""
        federation = self.setting.federation
        chosen = np.arange(len(federation)) if clients is None else clients
        part: Split = getattr(federation, split)
        with jax.disable_jit():
            rows = [self._judge(message, memories, part, round, int(client)) for client in chosen]
        return {name: stacked([row[name] for row in rows]) for name in rows[0]}

    def _sent(self, told: Messages, place: int, client: int) -> Tree:
        if self.setting.algorithm.decentralized:
            return pytrees.row(told.message, client)
        return jax.tree.map(jnp.asarray, pytrees.row(told.message, place)) if told.own else told.message

    def _visit(self, step: Step, place: int, message: Tree, memories: Memories) -> Reply:
        algorithm, task, client = self.setting.algorithm, self.setting.task, int(step.clients[place])
        try:
            job = step.number if step.jobs is None else int(step.jobs[place])
            data = self._data(step.number, client, algorithm.work, job)
            first = partial(algorithm.init_client, task, message, data.key)
            memory = self._memory(client, memories, first)
            reply = algorithm.client(task, message, memory, data, data.key)
            return reply._replace(report=watched(self.setting.watch, message, reply))
        except Exception as error:
            raise ClientError(
                f"round {step.number}, client {self._name(client)}: {type(error).__name__}: {error}"
            ) from error

    def _judge(
        self, message: Tree, memories: Memories, part: Split, round: int, client: int
    ) -> dict[str, Array | float]:
        algorithm, task = self.setting.algorithm, self.setting.task
        x, y = part.client(client)
        data = self._data(round, client, algorithm.evaluation_work)
        told = pytrees.row(message, client) if algorithm.decentralized else message
        first = partial(algorithm.newcomer, task, told, data.anew(), data.key)
        memory = self._memory(client, memories, first)
        predictor = algorithm.predictor(task, told, memory, data, data.key)
        if not len(x):
            return {"samples": 0.0, **dict.fromkeys(("loss", *task.statistics), float("nan"))}
        values = task.measure(algorithm.predict(task, predictor, as_floats(jnp.asarray(x))), jnp.asarray(y))
        means = {name: np.asarray(value.mean(0), np.float64) for name, value in values.items()}
        return {"samples": float(len(x)), **means}

    def _data(self, round: int, client: int, work: Any, job: int | None = None) -> ClientData:
        setting, clients = self.setting, np.array([client])
        selection = setting.stream.select(round, clients) if setting.stream else None
        sizes = np.diff(selection.offsets) if selection else self.sizes[clients]
        turn = round if job is None else job
        batches = plan_batches(work, sizes, clients, turn, setting.seed, self.capacity)
        placed = Gathered(setting.federation.train, 1).place(
            clients, assign_to_cores(batches.steps, 1), selection
        )
        key = jax.random.fold_in(jax.random.fold_in(self.key, turn), client)
        return ClientData(
            x=_padded(placed.x, self.capacity),
            y=_padded(placed.y, self.capacity),
            weights=None if placed.weights is None else _padded(placed.weights, self.capacity),
            own_weights=None,
            start=jnp.asarray(0),
            size=jnp.asarray(sizes[0]),
            steps=jnp.asarray(batches.steps[0]),
            positions=_padded(batches.positions[0], self._longest(work), -1),
            round=jnp.asarray(round),
            key=key,
            capacity=self.capacity,
            client=jnp.asarray(client),
        )

    def _longest(self, work: LocalWork) -> int:
        """Mini-batches of whoever has most of them."""
        largest = np.array([self.sizes.max()])
        return plan_batches(work, largest, np.zeros(1, np.int64), 0, 0, self.capacity).positions.shape[1]

    def _memory(self, client: int, memories: Memories, first: Callable[[], Tree]) -> Tree:
        memory, fresh = memories.gather(np.array([client]))
        if memories and fresh[0]:
            return first()
        return jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), memory)

    def _mixed(self, step: Step, uploads: Tree, accepted: jax.Array, starts: list[Tree]) -> Aggregate:
        matrix = jnp.atleast_2d(jnp.asarray(step.weights, jnp.float32))
        total, start = mix(matrix, uploads, accepted), None
        shares = accepted * jnp.asarray(self.setting.federation.importance[step.clients], jnp.float32)
        even = jax.tree.map(lambda leaf: jnp.tensordot(shares, leaf, axes=1), uploads)
        if step.weights.ndim == 1:
            total = pytrees.row(total, 0)
            start = pytrees.row(mix(matrix, pytrees.stack(starts), accepted), 0)
        kept = uploads if self.setting.algorithm.keeps_uploads else None
        clients = None if kept is None else jnp.asarray(step.clients)
        weights = None if kept is None else matrix[0] * accepted
        return Aggregate(
            total,
            start,
            matrix.sum() if step.weights.ndim == 1 else matrix @ accepted,
            accepted.sum(),
            shares.sum(),
            step.number,
            even,
            kept,
            clients,
            weights,
        )

    def _fault(self, upload: Tree, message: Tree) -> str | None:
        if self._expected is None:
            self._expected = self._template(upload, message)
        return fault(upload, self._expected)

    def _template(self, upload: Tree, message: Tree) -> Tree:
        """What uploads should look like: as traced or, for code that cannot be traced, like the first one."""
        try:
            shapes = reply_template(self.setting, message).upload
        except Exception:
            shapes = upload
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    def _name(self, client: Any) -> str:
        return self.setting.federation.name(int(client))


def _padded(values: Array, length: int, nothing: int = 0) -> jax.Array:
    """At least so many entries along the first axis: operations that are not compiled together are compiled
    one by one, for every shape again, so all clients should have one."""
    room = max(length - len(values), 0)
    shape = [(0, room)] + [(0, 0)] * (values.ndim - 1)
    return jnp.asarray(np.pad(values, shape, constant_values=nothing))
