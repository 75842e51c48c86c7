"""The Flower engine: clients train on their own machines.

The loop, the algorithm and the timing are those of a simulation. Here a step's results have arrived already
(the timing waited for them), and what clients remember stays with them: the server only knows after which
job each was last accepted, and says so with the next, so that a result that was rejected, or came before a
crash, leaves no trace.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from ..aggregation.base import Received, Uploads, receive_reply
from ..aggregation.observed_updates import add_observed_updates
from ..aggregation.upload_checks import fault
from ..algorithms import Algorithm, Messages, Reply
from ..core.pytrees import nbytes
from ..engine import BlockLimits, Memories, Setting, engine_registry, message_template, reply_template
from ..engine.distributed import Distributed, Visited, add_on_host
from ..errors import ConfigError, RunError
from ..timing import Jobs, Step
from ..typing import (
    Array,
    ClientIds,
    Document,
    Event,
    Float64s,
    Leaf,
    Memory,
    Message,
    PyTree,
    Report,
    Upload,
)
from .client.app import NEVER, add_prefix, below
from .jobs import RemoteJobs
from .metric_range import is_possible
from .streaming_weights import read_weight, with_same_sum
from .transport.mailbox import Answer, Mailbox, plain_text
from .transport.messages import MessageError, WireMessage, arrays_to_tree

ROOM = 1 << 16
"""Bytes that an answer may have beside its upload."""


class NodeConfig(Protocol):
    """What one node is told."""

    def write(self) -> str:
        """As words that go with every request."""


class UnreadableUpload(NamedTuple):
    """An upload that could not be read, and why."""

    reason: str


class ClientReply(NamedTuple):
    """What a client's answer holds."""

    upload: Upload | UnreadableUpload
    report: Mapping[str, Leaf] = {}
    weight: Leaf = None


class RemoteMemories(Memories):
    """Memories that stay with their clients: all that is known is the job after which each was accepted."""

    def __init__(self, template: Memory, clients: int) -> None:
        super().__init__(template, clients)
        self.last = np.full(clients, NEVER, np.int64)
        self.saved = [self.last.copy()]
        """The same at the checkpoints to which a run may go back."""

    def seen(self) -> ClientIds:
        """Nobody's memory can be looked at."""
        return np.zeros(0, np.int64)

    def tensors(self) -> dict[str, Array]:
        """What a checkpoint needs; clients keep what they may have to go back to."""
        self.saved = [*self.saved[-1:], self.last.copy()]
        return {"last": self.last.copy()}

    def restore(self, tensors: Mapping[str, Array]) -> None:
        if set(tensors) != {"last"} or tensors["last"].shape != self.last.shape:
            raise RunError("the checkpoint is not one of these clients, who keep their memories.")
        self.last = np.array(tensors["last"])
        self.saved = [self.last.copy()]


@engine_registry.add("flower")
class FlowerEngine(Distributed):
    """Real clients who keep their data, through Flower (`unalike serve` and `unalike join`)."""

    def __init__(
        self,
        setting: Setting,
        mailbox: Mailbox | None = None,
        client_configs: Sequence[NodeConfig] | None = None,
        patience: float = 600.0,
        refused_nodes: Callable[[], list[str]] = list,
        streaming: Collection[int] = (),
    ) -> None:
        if mailbox is None or client_configs is None:
            raise ConfigError("the engine flower needs real clients; start it with `unalike serve`.")
        self.setting, self.mailbox, self.patience, self.refused_nodes = (
            setting,
            mailbox,
            patience,
            refused_nodes,
        )
        self.client_configs = [client_config.write() for client_config in client_configs]
        self.streaming = frozenset(streaming)
        """Clients whose rows come and go, and who say how many they hold."""
        self.happened: list[Event] = []
        """What the record should say beside what happened to single clients."""
        self.asked = False
        """Whether anybody was asked to train."""
        self.faults: dict[int, str] = {}
        """Why clients' last jobs came to nothing."""
        self.trouble = "nobody answered"
        """Why the last round came to nothing, where no single client is to blame."""
        self._refused: set[int] = set()
        self._uploads: dict[int, ClientReply] = {}
        self._early: list[Answer] = []
        message = message_template(setting)
        self._reply = reply_template(setting, message)
        self._expected, self._said = self._reply.upload, self._reports_asked_for(message, self._reply)
        self._memories = RemoteMemories(self._reply.memory, len(setting.federation))
        mailbox.limit = 2 * nbytes(self._reply.upload) + ROOM + 8 * len(setting.watch) * nbytes(message)

    def memories(self, template: Memory, clients: int) -> Memories:
        """They stay with the clients, who keep them in files."""
        self._memories = RemoteMemories(template, clients)
        return self._memories

    def jobs(self, messages: Callable[[int], Message]) -> Jobs | None:
        """Results arrive when they arrive."""
        arrivals = RemoteJobs(len(self.setting.federation), self, messages)
        self.mailbox.pause = lambda seconds: arrivals.pause(seconds)
        return arrivals

    def limits(self, cohort: ClientIds, message: Message) -> BlockLimits:
        """Real clients are sent a model when the step before is done."""
        return BlockLimits()

    def server_key(self) -> jax.Array:
        """From the system's entropy: whoever knows the seed could take the server's noise off again."""
        return jax.random.wrap_key_data(jnp.asarray(np.frombuffer(secrets.token_bytes(8), np.uint32)))

    def events(self) -> list[Event]:
        """What happened to clients, and who was refused at the door."""
        happened, self.happened = self.happened, []
        refused = [{"kind": "refused node", "reason": one} for one in self.refused_nodes()]
        return [*self.mailbox.events(), *happened, *refused]

    def close(self) -> None:
        """The link is closed by whoever opened it."""

    # Training -----------------------------------------------------------------------------------------------

    def send_jobs(self, clients: ClientIds, version: int, message: Message) -> list[int]:
        """Let clients train on a version; returns who is away."""
        self.mailbox.wait_for_anyone()
        self.asked = True
        requests, group = self._jobs(clients, version), str(version + 1)
        if not has_own_messages(self.setting.algorithm):
            return self.mailbox.send("train", requests, _pack_message(message), group, self.patience)
        away = []
        for client, request in requests.items():
            own = _pack_message(self.setting.algorithm.own_message(message, client))
            away += self.mailbox.send("train", {client: request}, own, group, self.patience)
        return away

    def finished_jobs(self) -> list[tuple[int, bool]]:
        """Clients whose jobs ended, and whether with a result."""
        early, self._early = self._early, []
        answers = [one for one in (*early, *self.mailbox.collect()) if one.request == "train"]
        ended = [(answer.client, self._kept(answer)) for answer in answers]
        for answer in answers:
            self.faults[answer.client] = answer.fault or ""
            self._refused = self._refused - {answer.client} | ({answer.client} if answer.refused else set())
        if len(self._refused) == len(self.mailbox.names):
            self.check_trained()  # it will not become better by itself
        return ended

    def check_trained(self) -> None:
        """Raise where nobody's upload was ever accepted, with what the nodes answered."""
        if (self._memories.last != NEVER).any() or not self.asked:
            return
        known = {self.mailbox.names[client]: reason for client, reason in self.faults.items() if reason}
        reasons = [f"{name}: {plain_text(reason).rstrip('.')}" for name, reason in known.items()]
        raise RunError(
            f"no node has trained, so there is no model ({'; '.join(reasons) or self.trouble.rstrip('.')})."
        )

    def abandon(self, clients: ClientIds) -> None:
        """Nobody waits for these clients any more."""
        self.mailbox.abandon(clients.tolist(), "train")
        for client in clients.tolist():
            if self._uploads.pop(client, None) is not None:
                self.mailbox.note("late answer", client, errand="train")

    def visit(self, step: Step, messages: Messages, memories: Memories, keep: bool) -> Visited:
        """The results of the step's clients, which are here."""
        found = [self._uploads.pop(int(client)) for client in step.clients]
        reasons = [self._fault(answer) for answer in found]
        accepted = np.array([reason is None for reason in reasons])
        for client, reason in zip(step.clients.tolist(), reasons, strict=True):
            if reason:
                self.faults[client] = reason
                self.mailbox.note("bad upload", client, reason=reason)
        jobs = step.versions if step.jobs is None else step.jobs
        self._memories.last[step.clients[accepted]] = jobs[accepted]
        taken = [
            self._taken_in(int(client), answer, bool(good), messages.of(place))
            for place, (client, answer, good) in enumerate(zip(step.clients, found, accepted, strict=True))
        ]
        weights = step.weights * [1.0 if one.factor is None else float(one.factor) for one in taken]
        if self.streaming:
            weights = with_same_sum(weights, step.weights)
        uploads = Uploads(
            _stack_uploads([one.upload for one in taken]),
            weights.astype(np.float32),
            self.setting.federation.importance[step.clients].astype(np.float32),
            accepted.astype(np.float32),
            step.clients.astype(np.int32),
        )
        starts = messages.stacked() if messages.per_client else None
        tally = add_on_host(uploads, self.setting.server, starts)
        return Visited(tally, uploads, _all_of([one.report for one in taken]))

    def _taken_in(self, client: int, answer: ClientReply, good: bool, message: Message) -> Received:
        """What the server makes of one client's answer; nothing but zeros of one that is not good."""
        reply = Reply(zeros(self._expected), Memory({}), zeros(self._said))
        if good:
            upload = self.setting.algorithm.own_upload(Upload(answer.upload), client)
            reply = Reply(upload, Memory({}), answer.report, answer.weight)
        return receive_reply(self.setting.aggregator, reply, message, jnp.asarray(good))

    # Messages of the wire -----------------------------------------------------------------------------------

    def _jobs(self, clients: ClientIds, version: int) -> dict[int, Document]:
        """What clients are told when they train on a version."""
        keep = np.minimum.reduce(self._memories.saved)
        return {
            int(c): {**self._about(int(c)), "round": version, "job": version, "keep": int(keep[c])}
            for c in clients
        }

    def _kept(self, answer: Answer) -> bool:
        """Keep the result of a job; False if there is none. A bad one is a result, too: it is rejected."""
        if answer.wire_message is None:
            return False
        try:
            self._uploads[answer.client] = self._opened(answer.client, answer.wire_message)
        except MessageError as error:
            self._uploads[answer.client] = ClientReply(UnreadableUpload(str(error)))
        return True

    def _opened(self, client: int, message: WireMessage) -> ClientReply:
        if message.kind != "upload":
            raise MessageError(f"a job was answered with a message of kind {message.kind!r}.")
        upload = arrays_to_tree(self._expected, below(message.arrays, "upload"))
        report = _select_reports(below(message.arrays, "report"), self._said)
        if client in self.streaming:
            return ClientReply(upload, report, read_weight(message.arrays))
        if self._reply.weight is None:
            return ClientReply(upload, report)
        return ClientReply(
            upload, report, arrays_to_tree(self._reply.weight, below(message.arrays, "weight"))
        )

    def _fault(self, answer: ClientReply) -> str | None:
        if isinstance(answer.upload, UnreadableUpload):
            return answer.upload.reason
        watched = {name: self._said[name] for name in self.setting.watch}
        return (
            fault(answer.upload, self._expected)
            or fault({k: v for k, v in answer.report.items() if k in watched}, watched)
            or (None if self.streaming else fault(answer.weight, self._reply.weight))
        )

    def _reports_asked_for(self, message: Message, reply: Reply) -> Report:
        """What clients report, and its shapes: all that is taken of what they say."""
        seen = jax.eval_shape(lambda m, r: add_observed_updates(self.setting.watch, m, r), message, reply)
        return dict(seen)

    # Evaluation ---------------------------------------------------------------------------------------------

    def evaluate(
        self,
        messages: Messages,
        memories: Memories,
        split: str,
        round: int,
        clients: ClientIds | None = None,
    ) -> dict[str, Float64s]:
        """Every client evaluates on its own rows; who is away has no metrics this time."""
        chosen = np.arange(len(self.client_configs)) if clients is None else clients
        part = getattr(self.setting.federation, split)
        asked = chosen[part.sizes[chosen] > 0]  # the others have nothing to say
        found = self._ask("evaluate", asked, messages.tree, str(round), split=split, round=round)
        shapes = self.setting.task.statistic_shapes(part.x, part.y)
        values = {
            name: np.array([_statistic(found.get(int(c)), name, shape) for c in chosen])
            for name, shape in shapes.items()
        }
        known = np.array(
            [
                _has_answered(found.get(client))
                and self._has_possible_metrics(client, {n: v[place] for n, v in values.items()})
                for place, client in enumerate(chosen.tolist())
            ]
        )
        rows = part.sizes[chosen]  # as told at the introduction
        for value in values.values():
            value[~(known & (rows > 0))] = np.nan
        return {"samples": np.where(known, rows, 0).astype(np.float64), **values}

    @property
    def trusts_metrics(self) -> bool:
        """Nodes report their own metrics: medians over them decide."""
        return False

    def hand_over_model(self, message: Message) -> int:
        """Hand everyone the trained model; returns how many took it."""
        return len(self.ask_everyone("finish", message))

    def ask_everyone(self, kind: str, message: Message) -> dict[int, WireMessage]:
        """What clients answer to a request after training, each of them shown its own part of a message."""
        everyone = np.arange(len(self.client_configs))
        if not has_own_messages(self.setting.algorithm):
            return self._ask(kind, everyone, message, "end")
        found: dict[int, WireMessage] = {}
        for client in everyone.tolist():
            found |= self._ask(kind, np.array([client]), message, "end", shown=client)
        return found

    def _has_possible_metrics(self, client: int, values: Report) -> bool:
        """Whether a client's metrics lie in their ranges; those of a client whose do not are left out."""
        for name, value in values.items():
            if not is_possible(self.setting.task, name, value):
                self.mailbox.note("impossible metric", client, metric=name)
                return False
        return True

    def _ask(
        self,
        kind: str,
        clients: ClientIds,
        message: Message,
        group: str,
        shown: int | None = None,
        **more: Any,
    ) -> dict[int, WireMessage]:
        arrays = _pack_message(self.setting.algorithm.own_message(message, shown))
        requests = {int(c): {**self._about(int(c)), **more} for c in clients}
        found, others = self.mailbox.ask(kind, requests, arrays, group, self.patience)
        self._early.extend(others)
        return found

    def _about(self, client: int) -> Document:
        return {"contract": self.client_configs[client], "last": int(self._memories.last[client])}


def has_own_messages(algorithm: Algorithm) -> bool:
    """Whether clients are shown different parts of a message."""
    return type(algorithm).own_message is not Algorithm.own_message


def _pack_message(message: Message) -> dict[str, Array]:
    return add_prefix("message", jax.tree.map(np.asarray, message))


def _stack_uploads(uploads: list[PyTree]) -> PyTree:
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *uploads)


def _select_reports(said: Mapping[str, Array], asked: Report) -> dict[str, Array]:
    """What a client reports of what it was asked for; it may keep things to itself, but not add any."""
    good = {name: said[name] for name in asked if name in said}
    return {name: array for name, array in good.items() if fault([array], [asked[name]]) is None}


def _all_of(said: list[Report]) -> dict[str, Array]:
    """What everybody reports."""
    names = set.intersection(*(set(one) for one in said))
    return {name: np.stack([one[name] for one in said]) for name in sorted(names)}


def zeros(shapes: PyTree) -> PyTree:
    """Nothing, of these shapes."""
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)


def _has_answered(wire_message: WireMessage | None) -> bool:
    return wire_message is not None and wire_message.kind == "metrics"


def _statistic(wire_message: WireMessage | None, name: str, shape: tuple[int, ...]) -> Array | float:
    """What a client says of a statistic: a number or, where it has a shape, an array of that shape; NaN where
    it says something else."""
    if not shape:
        return _number(wire_message, name)
    there = wire_message is not None and _has_answered(wire_message)
    value = wire_message.arrays.get(f"statistic/{name}") if wire_message is not None and there else None
    good = value is not None and value.shape == shape and value.dtype == np.float64
    return value if value is not None and good else np.full(shape, np.nan)


def _number(wire_message: WireMessage | None, name: str) -> float:
    answered = wire_message is not None and _has_answered(wire_message)
    value = wire_message.numbers.get(name) if wire_message is not None and answered else None
    return float(value) if isinstance(value, int | float) else float("nan")
