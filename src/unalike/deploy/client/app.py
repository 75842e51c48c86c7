"""The client app: how a node answers requests.

    introduce                   -> how many rows it has, of what shape, with what labels and columns
    train    (model, contract)  -> the client's upload and what it reports
    evaluate (model, contract)  -> its metrics on a split
    finish   (model, contract)  -> keeps the model in its own folder

All of it happens on the node's own rows with the local engine; only what the answers hold leaves the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import jax
import numpy as np

from ...algorithms import Messages, Reply
from ...core.precision import precision
from ...data import Federation
from ...engine import LocalEngine, Memories, Part, Setting, message_template, reply_template
from ...errors import UnalikeError
from ...runs import save_tensors
from ...timing import Step
from ...trust.behaviors import Behavior, misbehave
from ...typing import Array, Memory, Message, PyTree
from ..analysis_config import AnalysisConfig
from ..client_config import PROTOCOL, ClientConfig, NodeRows
from ..transport.messages import MessageError, WireMessage, arrays_to_tree, tree_to_arrays
from .memory_files import MemoryFiles
from .row_stream import RowStream
from .rows import as_agreed
from .simulated_attack import attack_alone

ME = np.array([0])
"""The one client of a node."""
LARGEST_NUMBER = 2**31 - 2
"""Of a round or a job: plans hold numbers of 32 bits."""
NEVER = -1
"""The job after which a client that has not taken part yet remembers what it does."""


OF_TABLES = ("question", "rows", "coefficients")
"""Requests that only a node with a table answers."""


class ClientWorker:
    """One client that keeps its rows: answers requests one after the other."""

    def __init__(
        self,
        federation: Federation,
        folder: Path,
        log: Callable[[str], None] = lambda line: None,
        devices: int | None = None,
        uncut: bool = False,
        stream: RowStream | None = None,
        behavior: Behavior | None = None,
    ) -> None:
        if len(federation) != 1:
            raise MessageError(f"a node is one client, but there are {len(federation)}.")
        if behavior is not None:
            federation = attack_alone(behavior, federation)
        self.behavior = behavior
        self.federation, self.folder, self.log, self.devices = federation, folder, log, devices
        self.uncut, self.stream = uncut, stream
        self._open_session: tuple[str, Session] | None = None

    def answer(self, request: WireMessage) -> WireMessage:
        """Do a request; what cannot be done is answered with the reason."""
        requests = {
            "introduce": self._introduce,
            "train": self._train,
            "evaluate": self._evaluate,
            "finish": self._finish,
        }
        try:
            if request.kind in OF_TABLES:
                raise MessageError(
                    "this node trains with its rows (`unalike join --data`) and answers no questions about "
                    "them; for an analysis or statistics, it must join with --table FILE."
                )
            if request.kind not in requests:
                raise MessageError(f"this node does not know the request {request.kind!r}.")
            if request.numbers.get("protocol") != PROTOCOL:
                raise MessageError(
                    f"the server speaks protocol {request.numbers.get('protocol')}, this node {PROTOCOL}; "
                    "install the same version of unalike on both."
                )
            return requests[request.kind](request)
        except UnalikeError as error:
            self.log(f"refused a request: {error}")
            return WireMessage("refusal", {"reason": str(error), "protocol": PROTOCOL})

    def _introduce(self, request: WireMessage) -> WireMessage:
        rows = NodeRows.of(self._rows_now(), self.uncut, self.stream is not None)
        if self.federation.groups is not None:
            rows = replace(rows, group=self.federation.groups[0])
        named = rows.label_names is not None or rows.columns is not None
        more = ", and what labels and columns are called" if named else ""
        self.log(f"told the server how many rows there are{more}")
        return WireMessage("introduction", {"rows": rows.write(), "protocol": PROTOCOL})

    def _train(self, request: WireMessage) -> WireMessage:
        session, began = self._session_for(request), perf_counter()
        job, last = whole(request, "job"), whole(request, "last")
        if self.stream is not None:
            self._look_for_rows(self.stream, session, whole(request, "round"))
        reply = session.train(whole(request, "round"), job, last, below(request.arrays, "message"))
        session.files.forget_before(whole(request, "keep"))
        self.log(f"trained in round {whole(request, 'round') + 1} ({perf_counter() - began:.1f} s)")
        arrays = {**add_prefix("upload", reply.upload), **add_prefix("report", dict(reply.report))}
        if reply.weight is not None:
            arrays |= add_prefix("weight", reply.weight)
        if self.stream is not None:
            arrays |= add_prefix("weight", np.asarray(self.stream.weight, np.float32))
        return WireMessage("upload", {"job": job, "seconds": perf_counter() - began}, arrays)

    def _evaluate(self, request: WireMessage) -> WireMessage:
        split, message = str(request.numbers.get("split")), below(request.arrays, "message")
        if split not in ("train", "validation", "test"):
            raise MessageError(f"there is no split {split!r}; allowed: train, validation, test.")
        numbers, arrays = self._session_for(request).evaluate(
            message, whole(request, "round"), whole(request, "last"), split
        )
        return WireMessage("metrics", numbers, add_prefix("statistic", arrays))

    def _finish(self, request: WireMessage) -> WireMessage:
        session = self._session_for(request)
        message = session.message(below(request.arrays, "message"))
        path = self.folder / "models" / f"{session.client_config.run}.safetensors"
        save_tensors(path, message)
        self.log(f"training is over; the model is in {path}")
        return WireMessage("farewell", {})

    def _session_for(self, request: WireMessage) -> Session:
        words = str(request.numbers.get("contract"))
        if self._open_session is None or self._open_session[0] != words:
            client_config = ClientConfig.read(words)
            rows = as_agreed(self._rows_now(), client_config, self.uncut)
            changing = self.stream is not None
            given = (client_config, rows, self.folder, self.devices, changing, self.behavior)
            self._open_session = (words, Session(*given))
        return self._open_session[1]

    def _rows_now(self) -> Federation:
        return self.federation if self.stream is None else self.stream.federation()

    def _look_for_rows(self, stream: RowStream, session: Session, round: int) -> None:
        """Train on what is there in this round; a node with nothing cannot take part."""
        stream.look(session.client_config.run, round)
        if not len(stream):
            raise MessageError("this node holds no rows now.")
        assert isinstance(session.client_config, ClientConfig)
        session.hold(as_agreed(stream.federation(), session.client_config, self.uncut))


class _Shapes(NamedTuple):
    """What messages and memories look like."""

    message: Message
    memory: Memory
    weight: bool
    """Whether the client says what it weighs."""


class Session:
    """The local engine made ready for one contract."""

    def __init__(
        self,
        client_config: ClientConfig | AnalysisConfig,
        federation: Federation,
        folder: Path,
        devices: int | None = None,
        changing: bool = False,
        behavior: Behavior | None = None,
    ) -> None:
        self.client_config = client_config
        task, algorithm, seed = client_config.made(federation)
        if behavior is not None:
            algorithm = misbehave(algorithm, behavior, [client_config.number])
        if not algorithm.has_server:
            raise MessageError(f"{algorithm.name} has no server.")
        place = Part(
            np.array([client_config.number]),
            np.array([client_config.importance]),
            client_config.largest,
            changing,
        )
        setting = Setting(federation, task, algorithm, seed, None, devices, client_config.watch, place)
        self.files = MemoryFiles(folder, client_config.run)
        with precision(algorithm.needs.float64):
            self.setting, self.engine = setting, LocalEngine(setting)
            self.shapes = _shapes(setting)

    def hold(self, federation: Federation) -> None:
        """Go on with other rows, in arrays of the same shapes."""
        self.setting = self.setting._replace(federation=federation)
        self.engine = LocalEngine(self.setting)

    def message(self, arrays: Mapping[str, Array]) -> Message:
        """What was sent, as the algorithm takes it."""
        return arrays_to_tree(self.shapes.message, arrays)

    def train(self, round: int, job: int, last: int, arrays: Mapping[str, Array]) -> Reply:
        """What the client hands back, without its memory; it starts as it was after job `last`."""
        with precision(self.setting.algorithm.needs.float64):
            return self._train(round, job, last, arrays)

    def _train(self, round: int, job: int, last: int, arrays: Mapping[str, Array]) -> Reply:
        memories = self._memories(last)
        step = Step(round, ME, np.array([round]), np.ones(1), jobs=np.array([job]))
        done = self.engine.visit(step, Messages(self.message(arrays)), memories, keep=True)
        if memories:
            self.files.save(job, jax.tree.map(lambda leaf: leaf[0], memories.gather(ME)[0]))
        assert done.uploads is not None
        upload, weight, report = jax.tree.map(
            lambda leaf: leaf[0], (done.uploads.upload, done.uploads.weight, dict(done.report))
        )
        return Reply(upload, Memory({}), report, weight if self.shapes.weight else None)

    def memory(self, last: int) -> Memory:
        """What the client remembers after job `last`."""
        return jax.tree.map(lambda leaf: leaf[0], self._memories(last).gather(ME)[0])

    def evaluate(
        self, arrays: Mapping[str, Array], round: int, last: int, split: str
    ) -> tuple[dict[str, float], dict[str, Array]]:
        """The statistics of the client's metrics, numbers with that of its rows as `samples`, and arrays."""
        with precision(self.setting.algorithm.needs.float64):
            message, memories = Messages(self.message(arrays)), self._memories(last)
            values = self.engine.evaluate(message, memories, split, round, ME)
        numbers = {name: float(value[0]) for name, value in values.items() if value.ndim == 1}
        return numbers, {name: value[0] for name, value in values.items() if value.ndim > 1}

    def _memories(self, last: int) -> Memories:
        memories = Memories(self.shapes.memory, 1)
        if memories and last != NEVER:
            known = self.files.load(last, self.shapes.memory)
            if known is None:
                raise MessageError(
                    f"this node does not remember its job {last} in run {self.client_config.run}; its folder "
                    "must stay the same from start to start."
                )
            memories.scatter(ME, jax.tree.map(lambda leaf: np.asarray(leaf)[None], known))
        return memories


def _shapes(setting: Setting) -> _Shapes:
    message = message_template(setting)
    reply = reply_template(setting, message)
    return _Shapes(message, reply.memory, reply.weight is not None)


def add_prefix(name: str, tree: PyTree) -> dict[str, Array]:
    """The arrays of a tree, each under `name/...` (a bare array as `name/`)."""
    return {f"{name}/{path}": array for path, array in tree_to_arrays(tree).items()}


def below(arrays: Mapping[str, Array], name: str) -> dict[str, Array]:
    """The inverse of :func:`add_prefix`."""
    start = f"{name}/"
    return {path.removeprefix(start): array for path, array in arrays.items() if path.startswith(start)}


def whole(request: WireMessage, name: str) -> int:
    """A whole number that a request must have, such as a round."""
    value = request.numbers.get(name)
    if type(value) is not int or abs(value) > LARGEST_NUMBER:
        raise MessageError(f"the request {request.kind!r} does not say {name}.")
    return value
