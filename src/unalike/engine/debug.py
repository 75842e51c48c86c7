"""The debug engine: one client at a time, not compiled; errors name round and client.

The answers equal those of the local engine within float tolerance, so a run that misbehaves can be repeated
here and stepped through with an ordinary debugger.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..aggregation.base import Uploads, receive_reply
from ..aggregation.observed_updates import add_observed_updates
from ..aggregation.server_step import ClientReplies, server_step
from ..aggregation.tally import empty_tally
from ..aggregation.upload_checks import fault
from ..algorithms import ClientData, LocalWork, Messages, Reply
from ..core import pytrees
from ..core.pixels import as_floats
from ..data.federation import Split
from ..errors import UnalikeError
from ..models.metrics import stack_statistics
from ..timing import Step
from ..typing import Array, ClientIds, Float64s, Message, PyTree, Report, State, Upload
from .base import Engine, Outcome, Setting, engine_registry, root_key
from .blocks import BlockLimits
from .local.batches import plan_batches, round_up
from .local.layout import assign_to_cores
from .local.rows import GatheredRows
from .memories import Memories
from .reply_shapes import reply_template


class ClientError(UnalikeError):
    """A client's own code failed; the original error is the cause."""


@engine_registry.add("debug")
class DebugEngine(Engine):
    """One client at a time, not compiled; an error names the round and the client."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.sizes = setting.federation.train.sizes
        self.capacity = round_up(setting.most_rows())
        self.key = root_key(setting.seed, "client")
        self._expected: Upload | None = None

    def run_step(self, step: Step, state: State, messages: Messages, memories: Memories) -> Outcome:
        """Visit each client of the step in turn, then aggregate."""
        server, matrix = self.setting.server, step.weights.ndim > 1
        uploads, reports = [], []
        with jax.disable_jit():
            for place in range(len(step.clients)):
                upload, report = self._received(step, place, _as_jax(messages.of(place)), memories)
                uploads.append(upload)
                reports.append({name: np.asarray(value) for name, value in report.items()})
            keep = server.keeps_uploads(matrix)
            tally = empty_tally(
                uploads[0].upload, uploads[0].start if messages.per_client else None, self._by_importance
            )
            for one in uploads:
                tally = tally.add(one.upload, one.start, one.weight, one.importance, one.accepted)
            sent = ClientReplies(
                tally,
                pytrees.stack(uploads) if keep else None,
                jnp.asarray(step.weights, jnp.float32) if matrix else None,
                jnp.abs(jnp.asarray(step.weights, jnp.float32)).max(),
            )
            message = None if messages.per_client else messages.tree
            key = root_key(self.setting.seed, "aggregator")
            state, judgment = server_step(server, state, sent, message, step.number, key)
        report = {name: np.array([r[name] for r in reports], np.float32) for name in reports[0]}
        return Outcome(state, [{**report, **judgment}])

    def limits(self, cohort: ClientIds, message: Message) -> BlockLimits:
        """One step at a time: every one is to be seen by itself."""
        return BlockLimits()

    def evaluate(
        self,
        messages: Messages,
        memories: Memories,
        split: str,
        round: int,
        clients: ClientIds | None = None,
    ) -> dict[str, Float64s]:
        """Visit each client in turn."""
        federation = self.setting.federation
        chosen = np.arange(len(federation)) if clients is None else clients
        return self.evaluate_rows(messages, memories, self.setting.split(split, round), round, chosen)

    @property
    def judges_rows(self) -> bool:
        return True

    def evaluate_rows(
        self, messages: Messages, memories: Memories, part: Split, round: int, clients: ClientIds
    ) -> dict[str, Float64s]:
        """Visit each client in turn, whatever the rows."""
        with jax.disable_jit():
            rows = [self._judge(_as_jax(messages.of(int(c))), memories, part, round, int(c)) for c in clients]
        return {name: stack_statistics([row[name] for row in rows]) for name in rows[0]}

    @property
    def _by_importance(self) -> bool:
        return self.setting.algorithm.needs.importance_sum

    def _received(
        self, step: Step, place: int, message: Message, memories: Memories
    ) -> tuple[Uploads, Report]:
        """What the server takes in of one client, and what is recorded of it."""
        client = int(step.clients[place])
        reply = self._visit(step, place, message, memories)
        reason = self._fault(reply.upload, message)
        if reason:
            warnings.warn(
                f"round {step.number}, client {self._name(client)}: upload {reason}; left out.", stacklevel=2
            )
            reply = reply._replace(upload=pytrees.zeros_like(self._expected))
        else:
            memory = jax.tree.map(lambda leaf: np.asarray(leaf)[None], reply.memory)
            memories.scatter(np.array([client]), memory)
        good = jnp.asarray(reason is None)
        upload, factor, report = receive_reply(self.setting.aggregator, reply, message, good)
        weight = 1.0 if step.weights.ndim > 1 else step.weights[place]
        weight = jnp.asarray(weight, jnp.float32) * (1.0 if factor is None else factor)
        importance = jnp.asarray(self.setting.importance(step.number)[client], jnp.float32)
        sent = Uploads(upload, weight, importance, report["accepted"], jnp.asarray(client), message)
        return sent, report

    def _visit(self, step: Step, place: int, message: Message, memories: Memories) -> Reply:
        algorithm, task, client = self.setting.algorithm, self.setting.task, int(step.clients[place])
        try:
            job = step.number if step.jobs is None else int(step.jobs[place])
            data = self.client_data(step.number, client, algorithm.work, job)
            first = partial(algorithm.init_client, task, message, data.key)
            memory = self._memory(client, memories, first)
            reply = algorithm.client(task, message, memory, data, data.key)
            return reply._replace(report=add_observed_updates(self.setting.watch, message, reply))
        except Exception as error:
            raise ClientError(
                f"round {step.number}, client {self._name(client)}: {type(error).__name__}: {error}"
            ) from error

    def _judge(
        self, message: Message, memories: Memories, part: Split, round: int, client: int
    ) -> dict[str, Array | float]:
        algorithm, task = self.setting.algorithm, self.setting.task
        x, y = part.client(client)
        data = self.client_data(round, client, algorithm.evaluation_work)
        first = partial(algorithm.newcomer, task, message, data.anew(), data.key)
        memory = self._memory(client, memories, first)
        predictor = algorithm.predictor(task, message, memory, data, data.key)
        if not len(x):
            return {"samples": 0.0, **dict.fromkeys(("loss", *task.statistics), float("nan"))}
        values = task.measure(algorithm.predict(task, predictor, as_floats(jnp.asarray(x))), jnp.asarray(y))
        means = {name: np.asarray(value.mean(0), np.float64) for name, value in values.items()}
        return {"samples": float(len(x)), **means}

    def client_data(self, round: int, client: int, work: LocalWork, job: int | None = None) -> ClientData:
        """What one client sees of its rows, in the same shapes for all clients."""
        setting, clients = self.setting, np.array([client])
        selection = setting.stream.select(round, clients) if setting.stream else None
        sizes = np.diff(selection.offsets) if selection else self.sizes[clients]
        turn = round if job is None else job
        batches = plan_batches(work, sizes, clients, turn, setting.seed, self.capacity)
        placed = GatheredRows(setting.federation.train, 1).place(
            clients, assign_to_cores(batches.steps, 1), selection
        )
        key = jax.random.fold_in(jax.random.fold_in(self.key, turn), client)
        return ClientData(
            x=_pad(placed.x, self.capacity),
            y=_pad(placed.y, self.capacity),
            weights=None if placed.weights is None else _pad(placed.weights, self.capacity),
            own_weights=None,
            start=jnp.asarray(0),
            size=jnp.asarray(sizes[0]),
            steps=jnp.asarray(batches.steps[0]),
            positions=_pad(batches.positions[0], self._longest(work), -1),
            round=jnp.asarray(round),
            key=key,
            capacity=self.capacity,
            client=jnp.asarray(client),
        )

    def _longest(self, work: LocalWork) -> int:
        """Mini-batches of whoever has most of them."""
        largest = np.array([self.setting.most_rows()])
        return plan_batches(work, largest, np.zeros(1, np.int64), 0, 0, self.capacity).positions.shape[1]

    def _memory(self, client: int, memories: Memories, first: Callable[[], PyTree]) -> PyTree:
        memory, fresh = memories.gather(np.array([client]))
        if memories and fresh[0]:
            return first()
        return jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), memory)

    def _fault(self, upload: Upload, message: Message) -> str | None:
        if self._expected is None:
            self._expected = self._template(upload, message)
        return fault(upload, self._expected)

    def _template(self, upload: Upload, message: Message) -> PyTree:
        """What uploads should look like: as traced or, for code that cannot be traced, like the first one."""
        try:
            shapes = reply_template(self.setting, message).upload
        except Exception:
            shapes = upload
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    def _name(self, client: int) -> str:
        return self.setting.federation.name(int(client))


def _as_jax(message: Message) -> Message:
    return jax.tree.map(jnp.asarray, message)


def _pad(values: Array, length: int, nothing: int = 0) -> jax.Array:
    """At least so many entries along the first axis: operations that are not compiled together are compiled
    one by one, for every shape again, so all clients should have one."""
    room = max(length - len(values), 0)
    shape = [(0, room)] + [(0, 0)] * (values.ndim - 1)
    return jnp.asarray(np.pad(values, shape, constant_values=nothing))
