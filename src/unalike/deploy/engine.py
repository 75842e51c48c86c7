"""How does the server train clients who keep their rows?

The loop, the algorithm and the timing are those of a simulation. Here a step's results have arrived already
(the timing waited for them), and what clients remember stays with them: the server only knows after which
job each was last accepted, and says so with the next, so that a result that was rejected, or came before a
crash, leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from ..aggregation.observed_updates import watched
from ..algorithms import Reply
from ..core.pytrees import Tree, nbytes, row
from ..engine import Memories, Outcome, Report, Setting, Told, engine_registry, fault, reply_template
from ..engine.distributed import Distributed, Visited, added
from ..errors import ConfigError, RunError
from ..privacy.accounting import UNCOUNTED
from ..timing import Flight, Step
from .client.app import NEVER, below, prefixed
from .client_config import Contract
from .jobs import Arrivals
from .transport.mailbox import Answer, Courier
from .transport.messages import Parcel, ParcelError, arrays_to_tree

if TYPE_CHECKING:
    from ..privacy.mechanism import CentralPrivacy

Numbers = NDArray[np.int64]
ROOM = 1 << 16
"""Bytes that an answer may have beside its upload."""


class Spoilt(NamedTuple):
    """An upload that could not be read, and why."""

    reason: str


class FarMemories(Memories):
    """Memories that stay with their clients: all that is known is the job after which each was accepted."""

    def __init__(self, template: Tree, clients: int) -> None:
        super().__init__(template, clients)
        self.last = np.full(clients, NEVER, np.int64)
        self.saved = [self.last.copy()]
        """The same at the checkpoints to which a run may go back."""

    def seen(self) -> Numbers:
        """Nobody's memory can be looked at."""
        return np.zeros(0, np.int64)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """What a checkpoint needs; clients keep what they may have to go back to."""
        self.saved = [*self.saved[-1:], self.last.copy()]
        return {"last": self.last.copy()}

    def restore(self, tensors: Mapping[str, NDArray[Any]]) -> None:
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
        courier: Courier | None = None,
        contracts: list[Contract] | None = None,
        patience: float = 600.0,
        doorman: Callable[[], list[str]] = list,
        privacy: CentralPrivacy | None = None,
    ) -> None:
        if courier is None or contracts is None:
            raise ConfigError("the engine flower needs real clients; start it with `unalike serve`.")
        self.setting, self.courier, self.patience, self.doorman = setting, courier, patience, doorman
        self.contracts = [contract.write() for contract in contracts]
        self.privacy = privacy
        self.happened: list[dict[str, Any]] = []
        """What the record should say beside what happened to single clients."""
        self._uploads: dict[int, tuple[Tree, Mapping[str, Any]]] = {}
        self._early: list[Answer] = []
        self._uncounted = False

    def memories(self, template: Tree, clients: int) -> Memories:
        """With the clients."""
        self._memories = FarMemories(template, clients)
        return self._memories

    def flight(self, messages: Callable[[int], Tree]) -> Flight | None:
        """Results arrive when they arrive."""
        message = jax.tree.map(np.asarray, messages(0))
        reply = reply_template(self.setting, message)
        self._expected, self._said = reply.upload, self._reports_asked_for(message, reply)
        if self.privacy is not None:
            self.privacy.check_upload(message, reply.upload)
        self.courier.limit = 2 * nbytes(reply.upload) + ROOM + 8 * len(self.setting.watch) * nbytes(message)
        arrivals = Arrivals(len(self.setting.federation), self, messages)
        self.courier.pause = lambda seconds: arrivals.pause(seconds)
        return arrivals

    def events(self) -> list[dict[str, Any]]:
        """What happened to clients, and who was refused at the door."""
        happened, self.happened = self.happened, []
        refused = [{"kind": "refused node", "reason": one} for one in self.doorman()]
        return [*self.courier.events(), *happened, *refused]

    def close(self) -> None:
        """The link is closed by whoever opened it."""

    # Training -----------------------------------------------------------------------------------------------

    def send_jobs(self, clients: Numbers, version: int, message: Tree) -> list[int]:
        """Let clients train on a version; returns who is away."""
        self.courier.wait_for_anyone()
        arrays = prefixed("message", jax.tree.map(np.asarray, message))
        errands = self._jobs(clients, version)
        return self.courier.send("train", errands, arrays, str(version + 1), self.patience)

    def landed(self) -> list[tuple[int, bool]]:
        """Clients whose jobs ended, and whether with a result."""
        early, self._early = self._early, []
        return [
            (answer.client, self._kept(answer))
            for answer in (*early, *self.courier.collect())
            if answer.errand == "train"
        ]

    def abandon(self, clients: Numbers) -> None:
        """Nobody waits for these clients any more."""
        self.courier.abandon(clients.tolist(), "train")
        for client in clients.tolist():
            if self._uploads.pop(client, None) is not None:
                self.courier.note("late answer", client, errand="train")

    def visit(self, step: Step, told: Told, memories: Memories, keep: bool) -> Visited:
        """The results of the step's clients, which are here."""
        found = [self._uploads.pop(int(client)) for client in step.clients]
        reasons = [self._fault(*answer) for answer in found]
        accepted = np.array([reason is None for reason in reasons])
        for client, reason in zip(step.clients.tolist(), reasons, strict=True):
            if reason:
                self.courier.note("bad upload", client, reason=reason)
        nothing = zeros(self._expected)
        uploads = [
            self._bounded(upload, told, place) if good else nothing
            for place, ((upload, _), good) in enumerate(zip(found, accepted, strict=True))
        ]
        assert isinstance(memories, FarMemories)
        jobs = step.versions if step.jobs is None else step.jobs
        memories.last[step.clients[accepted]] = jobs[accepted]
        said = [said if good else zeros(self._said) for (_, said), good in zip(found, accepted, strict=True)]
        report = {"accepted": accepted.astype(np.float32), **_all_of(said)}
        raw = Visited({}, {}, {}, None, _stacked(uploads), {}, report)  # type: ignore[arg-type]
        return added(step, slice(None), raw, told.message if told.own else {}, self.setting)

    # Privacy ------------------------------------------------------------------------------------------------

    def run(self, step: Step, state: Tree, told: Told, memories: Memories) -> Outcome:
        """As everywhere; the record also says what privacy was spent."""
        after, report = super().run(step, state, told, memories)
        return Outcome(after, self._with_spent(report))

    def run_stale(
        self, steps: list[Step], state: Tree, told: Told, memories: Memories
    ) -> tuple[Tree, Tree, list[Report]]:
        """As everywhere; the record also says what privacy was spent."""
        after, messages, reports = super().run_stale(steps, state, told, memories)
        return after, messages, [self._with_spent(report) for report in reports]

    def settle(self, step: Step, state: Tree, told: Told, done: Visited, own: bool) -> Tree:
        """The server's state after the step, of which it sees a noisy sum where privacy is asked for."""
        if self.privacy is not None and np.any(done.report["accepted"]):
            done = done._replace(total=self.privacy.hidden(step, done.total))
        return super().settle(step, state, told, done, own)

    def _bounded(self, upload: Tree, told: Told, place: int) -> Tree:
        if self.privacy is None:
            return upload
        return self.privacy.clipped(upload, row(told.message, place) if told.own else told.message)

    def _with_spent(self, report: Report) -> Report:
        if self.privacy is None:
            return report
        epsilon = self.privacy.ledger.epsilon()
        if epsilon is None:
            if not self._uncounted:
                self.happened.append({"kind": "privacy not counted", "reason": UNCOUNTED})
            self._uncounted = True
            return report
        return {**report, "epsilon": np.full(np.shape(report["accepted"]), epsilon)}

    # Parcels ------------------------------------------------------------------------------------------------

    def _jobs(self, clients: Numbers, version: int) -> dict[int, dict[str, Any]]:
        """What clients are told when they train on a version."""
        keep = np.minimum.reduce(self._memories.saved)
        return {
            int(c): {**self._about(int(c)), "round": version, "job": version, "keep": int(keep[c])}
            for c in clients
        }

    def _kept(self, answer: Answer) -> bool:
        """Keep the result of a job; False if there is none. A bad one is a result, too: it is rejected."""
        if answer.parcel is None:
            return False
        try:
            self._uploads[answer.client] = self._opened(answer.parcel)
        except ParcelError as error:
            self._uploads[answer.client] = Spoilt(str(error)), {}
        return True

    def _opened(self, parcel: Parcel) -> tuple[Tree, Mapping[str, Any]]:
        if parcel.kind != "upload":
            raise ParcelError(f"a job was answered with a parcel of kind {parcel.kind!r}.")
        upload = arrays_to_tree(self._expected, below(parcel.arrays, "upload"))
        return upload, _asked_for(below(parcel.arrays, "report"), self._said)

    def _fault(self, upload: Tree, said: Mapping[str, Any]) -> str | None:
        if isinstance(upload, Spoilt):
            return upload.reason
        watched = {name: self._said[name] for name in self.setting.watch}
        return fault(upload, self._expected) or fault(
            {k: v for k, v in said.items() if k in watched}, watched
        )

    def _reports_asked_for(self, message: Tree, reply: Reply) -> Mapping[str, Any]:
        """What clients report, and its shapes: all that is taken of what they say."""
        seen = jax.eval_shape(lambda m, r: watched(self.setting.watch, m, r), message, reply)
        return dict(seen)

    # Evaluation ---------------------------------------------------------------------------------------------

    def evaluate(
        self,
        message: Tree,
        memories: Memories,
        split: str,
        round: int,
        clients: NDArray[np.int64] | None = None,
    ) -> dict[str, NDArray[np.float64]]:
        """Every client evaluates on its own rows; who is away has no metrics this time."""
        chosen = np.arange(len(self.contracts)) if clients is None else clients
        found = self._ask("evaluate", chosen, message, str(round), split=split, round=round)
        names = ("loss", *self.setting.task.metrics)
        values = {name: np.array([_number(found.get(int(c)), name) for c in chosen]) for name in names}
        known = np.all([np.isfinite(value) for value in values.values()], axis=0)
        rows = getattr(self.setting.federation, split).sizes[chosen]  # as told at the introduction
        measured = {name: np.where(known & (rows > 0), value, np.nan) for name, value in values.items()}
        return {"samples": np.where(known, rows, 0).astype(np.float64), **measured}

    def farewell(self, message: Tree) -> int:
        """Hand everyone the trained model; returns how many took it."""
        return len(self._ask("finish", np.arange(len(self.contracts)), message, "end"))

    def _ask(self, kind: str, clients: Numbers, message: Tree, group: str, **more: Any) -> dict[int, Parcel]:
        arrays = prefixed("message", jax.tree.map(np.asarray, message))
        errands = {int(c): {**self._about(int(c)), **more} for c in clients}
        found, others = self.courier.ask(kind, errands, arrays, group, self.patience)
        self._early.extend(others)
        return found

    def _about(self, client: int) -> dict[str, Any]:
        return {"contract": self.contracts[client], "last": int(self._memories.last[client])}


def _stacked(uploads: list[Tree]) -> Tree:
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *uploads)


def _asked_for(said: Mapping[str, NDArray[Any]], asked: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """What a client reports of what it was asked for; it may keep things to itself, but not add any."""
    good = {name: said[name] for name in asked if name in said}
    return {name: array for name, array in good.items() if fault([array], [asked[name]]) is None}


def _all_of(said: list[Mapping[str, Any]]) -> dict[str, NDArray[Any]]:
    """What everybody reports."""
    names = set.intersection(*(set(one) for one in said))
    return {name: np.stack([one[name] for one in said]) for name in sorted(names)}


def zeros(shapes: Tree) -> Tree:
    """Nothing, of these shapes."""
    return jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)


def _number(parcel: Parcel | None, name: str) -> float:
    value = None if parcel is None or parcel.kind != "metrics" else parcel.numbers.get(name)
    return float(value) if isinstance(value, int | float) else float("nan")
