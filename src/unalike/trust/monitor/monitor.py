"""The free-rider monitor, around any aggregator.

    receive(upload, sent)    hands both to the server's host, beside what the rule makes of it
    observe(step, report)    measures every update, decides, and says what is new
    admit(step)              leaves excluded clients out of later steps; quarantined ones weigh nothing

A client in quarantine still works and is still measured, so it can come back; whoever is excluded does not.
The others take over the weight. The first answer is about free-riders, who send the model back with or
without noise; robust rules, which bear lies of any size, go well with it. What it keeps are digests, signals,
and for each client its last update; single uploads are never recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ...aggregation.base import Aggregator, Received, WeightedSum
from ...aggregation.needs import AggregatorNeeds
from ...aggregation.wrapper import AggregatorWrapper
from ...algorithms import Algorithm, Reply
from ...core.pytrees import shapes, size
from ...core.registry import Registry
from ...errors import ConfigError
from ...participation import Participation
from ...timing import Step
from ...typing import Array, Event, Message, PyTree, Report, Upload
from .decisions import OFTEN, REPLAYED, Verdict, decide, raise_flags, window_for
from .measure import AcceptedUploads, Loss, find_copies, idle, measure
from .signals import digest
from .state import MonitorState

monitor_registry: Registry[Aggregator] = Registry("monitor", "monitors")
UPLOADED, SENT = "monitored_upload", "monitored_model"
"""What every client's report carries to the host."""
MOST_BYTES = 8 << 30
"""That a monitor may keep."""


@dataclass(frozen=True)
class Monitor(AggregatorWrapper):
    """Watches uploads before a rule mixes them; `window` rounds of a client are judged together."""

    book: MonitorState = field(compare=False)
    rule: Aggregator = field(default_factory=WeightedSum)
    window: int = 5
    normality: bool = True
    """Whether to ask if updates are Gaussian; not where clients add noise of their own."""
    holdout: Callable[[PyTree], Any] | None = field(default=None, compare=False)
    """The loss of a model on rows of the server's own, where it has some."""

    adds: ClassVar[AggregatorNeeds] = AggregatorNeeds(observe=True)
    hidden: ClassVar[str | None] = (
        "it looks at single uploads; where these are hidden, clients must be challenged in groups"
    )

    def __post_init__(self) -> None:
        if not isinstance(self.window, int) or self.window < 2:
            raise ConfigError(f"a monitor's window must be at least 2 rounds, but is {self.window!r}.")

    @property
    def stepwise(self) -> bool:
        """A verdict holds from the next step on, so steps are taken one by one."""
        return True

    def check(self, method: Algorithm, who: Participation, message: Message, reply: Reply) -> None:
        super().check(method, who, message, reply)
        self.book.forget()
        layers = np.array([size(leaf) for leaf in jax.tree.leaves(reply.upload)], np.int64)
        self.book.begin(window_for(self.window, int(layers.sum())), layers)
        self.book.template = reply.upload
        if self.holdout is not None and shapes(reply.upload) != shapes(message):
            raise ConfigError(
                "a hold-out judges uploads that are models, but this algorithm's uploads have other shapes; "
                "leave it out, or choose a method such as fedavg."
            )

    def check_cohort(self, most: int) -> None:
        if self.book.clients < 2 or most < 2:
            raise ConfigError("a monitor compares clients with each other, but here is one at a time.")
        kept = 4 * int(self.book.layers.sum()) * (self.book.clients + 2 * most)
        if kept > MOST_BYTES:
            raise ConfigError(
                f"a monitor keeps the last updates of {self.book.clients:,} clients and a step's uploads, "
                f"here {kept / 2**30:.1f} GiB of at most {MOST_BYTES / 2**30:.0f}; choose fewer clients, a "
                "smaller per_round or a smaller model."
            )
        super().check_cohort(most)

    def receive(self, upload: Upload, start: Message) -> Received:
        received = super().receive(upload, start)
        seen = {UPLOADED: as_vector(upload), SENT: as_vector(start)}
        return received._replace(report={**received.report, **seen})

    def admit(self, step: Step) -> Step:
        """The step without excluded clients, in which those in quarantine weigh nothing."""
        step = super().admit(step)
        self.book.declared = step
        verdicts = self.book.verdicts[step.clients]
        counted = verdicts < Verdict.QUARANTINE
        if step.weights.ndim > 1 or counted.all():
            return step
        asked, given = step.weights.sum(), step.weights[counted].sum()
        if given == 0:  # nobody is left whom the server would listen to
            return step.only(np.zeros(len(verdicts), bool))
        return step.only(verdicts < Verdict.EXCLUDE, np.where(counted, asked / given, 0.0))

    def observe(self, step: Step, report: Report) -> tuple[dict[str, float], list[Event]]:
        """Measure, decide, and say whose verdict has changed."""
        columns, events = super().observe(step, report)
        self.book.measured = {}
        if UPLOADED not in report:
            return columns, events
        arrived = self._arrived(step, report)
        if len(arrived.clients):
            events = [*events, *self._judge(arrived)]
        return {**columns, **self._summary(step)}, events

    def of_clients(self, step: Step) -> Mapping[str, Array]:
        """Every client's signals, its verdict, and the first 48 bits of its upload's digest."""
        return {**super().of_clients(step), **self.book.measured}

    def state(self) -> dict[str, Array]:
        inner = {f"rule_{name}": values for name, values in self.rule.state().items()}
        return {**inner, **{f"book_{name}": values for name, values in self.book.state().items()}}

    def restore(self, state: Mapping[str, Array]) -> None:
        self.book.restore(_below(state, "book_"))
        inner = _below(state, "rule_")
        if inner:
            self.rule.restore(inner)

    def _arrived(self, step: Step, report: Report) -> AcceptedUploads:
        """The uploads that are judged: accepted ones, of clients that weigh something or are in quarantine.
        (Who holds no rows learns nothing, and is no free-rider for that.)"""
        quarantined = self.book.verdicts[step.clients] == Verdict.QUARANTINE
        judged = (np.asarray(report["accepted"]) > 0) & ((step.weights != 0) | quarantined)
        uploads, sent = (np.asarray(report[name])[judged] for name in (UPLOADED, SENT))
        return AcceptedUploads(step.clients[judged], uploads, sent)

    def _judge(self, arrived: AcceptedUploads) -> list[Event]:
        """Note what arrived, and say what is new."""
        book, clients = self.book, arrived.clients
        uploads, models = ([digest(row) for row in rows] for rows in (arrived.uploads, arrived.sent))
        found = measure(arrived, book, self.normality, self._loss())
        still = idle(arrived)
        if not still.all():
            book.caught[clients] |= still | find_copies(uploads)
        old = np.array([u in book.ever_sent and u != m for u, m in zip(uploads, models, strict=True)])
        book.replays[clients] += np.where(old, OFTEN, found["replay"] > REPLAYED)
        for i, client in enumerate(clients.tolist()):
            one = {name: float(values[i]) for name, values in found.items()}
            book.note(client, arrived.updates[i], arrived.sent[i], models[i], one)
        book.drop_old_models()
        events = self._decide(dict(zip(clients.tolist(), uploads, strict=True)))
        book.measured = {
            "monitored": clients,
            **{f"monitor_{name}": values for name, values in found.items()},
            "monitor_verdict": book.verdicts[clients],
            "monitor_digest": np.array([float(int(one[:12], 16)) for one in uploads]),
        }
        return [{"kind": "no progress", "clients": len(clients)}, *events] if still.all() else events

    def _loss(self) -> Loss | None:
        """The loss of a model, as one vector, on the server's own rows."""
        judge, template = self.holdout, self.book.template
        return None if judge is None else lambda vector: float(judge(as_tree(vector, template)))

    def _decide(self, digests: Mapping[int, str]) -> list[Event]:
        """New verdicts, and an event for each that has changed; an exclusion stays."""
        book, parameters = self.book, int(self.book.layers.sum())
        flags = raise_flags(book.evidence(), book.window, parameters, self.normality)
        before = book.verdicts
        gone = before == Verdict.EXCLUDE
        book.verdicts = np.where(gone, before, decide(flags))
        return [
            {
                "kind": KINDS[Verdict(book.verdicts[client])],
                "client": int(client),
                "reasons": [name for name, raised in flags.items() if raised[client]],
                "digest": digests.get(int(client)),
            }
            for client in np.flatnonzero(book.verdicts != before)
        ]

    def _summary(self, step: Step) -> dict[str, float]:
        """How many are suspected, how much of the weight they were to have, and how many times longer
        training would take if they counted and sent nothing new."""
        verdicts, declared = self.book.verdicts, self.book.declared or step
        names = {"watched": Verdict.WATCH, "quarantined": Verdict.QUARANTINE, "excluded": Verdict.EXCLUDE}
        counts = {f"monitor_{name}": float((verdicts == verdict).sum()) for name, verdict in names.items()}
        suspects = verdicts[declared.clients] > Verdict.CLEAR
        share = float(declared.weights[suspects].sum() / declared.weights.sum())
        slow_down = 1 / (1 - share) if share < 1 else float("inf")
        return {**counts, "monitor_suspected_weight": share, "monitor_slow_down": slow_down}


KINDS = {
    Verdict.CLEAR: "client cleared",
    Verdict.WATCH: "client watched",
    Verdict.QUARANTINE: "client quarantined",
    Verdict.EXCLUDE: "client excluded",
}
"""How events are called."""


@monitor_registry.add("free-riders")
def free_riders(window: int = 5, *, clients: int, rule: Aggregator) -> Monitor:
    """Finds clients that send the model back, with or without noise, by so many of their rounds;
    `free-riders:5`."""
    return Monitor(MonitorState(clients), rule, window)


@monitor_registry.add("free-riders-with-noise")
def free_riders_with_noise(window: int = 5, *, clients: int, rule: Aggregator) -> Monitor:
    """The same where honest clients add Gaussian noise of their own (local privacy), which proves nothing
    then; `free-riders-with-noise:5`."""
    return Monitor(MonitorState(clients), rule, window, normality=False)


def as_vector(tree: PyTree) -> jax.Array:
    """All numbers of a tree, one after the other."""
    leaves = [leaf.ravel().astype(jnp.float32) for leaf in jax.tree.leaves(tree)]
    return jnp.concatenate([jnp.zeros(0), *leaves])


def as_tree(vector: Array, template: PyTree) -> PyTree:
    """The inverse of :func:`as_vector`, for a tree of the template's shapes."""
    leaves, structure = jax.tree.flatten(template)
    parts = np.split(vector, np.cumsum([size(leaf) for leaf in leaves])[:-1])
    shaped = [part.reshape(leaf.shape).astype(leaf.dtype) for part, leaf in zip(parts, leaves, strict=True)]
    return jax.tree.unflatten(structure, shaped)


def _below(state: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): values for name, values in state.items() if name.startswith(prefix)}
