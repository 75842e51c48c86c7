"""What does a node do with an errand?

    introduce                   -> how many rows it has, of what shape, with what labels and columns
    train    (model, contract)  -> the client's upload and what it reports
    evaluate (model, contract)  -> its metrics on a split
    finish   (model, contract)  -> keeps the model in its own folder

All of it happens on the node's own rows with the local engine; only what the answers hold leaves the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from ...core.pytrees import Tree
from ...data import Federation
from ...engine import LocalEngine, Memories, Part, Setting, Told, message_template, reply_template
from ...errors import UnalikeError
from ...runs import save_tensors
from ...timing import Step
from ..client_config import PROTOCOL, Contract, Rows
from ..transport.messages import Parcel, ParcelError, arrays_to_tree, tree_to_arrays
from .memory_files import MemoryFiles
from .rows import as_agreed

ME = np.array([0])
"""The one client of a node."""
NEVER = -1
"""The job after which a client that has not taken part yet remembers what it does."""


class Worker:
    """One client that keeps its rows: answers errands one after the other."""

    def __init__(
        self,
        federation: Federation,
        folder: Path,
        log: Callable[[str], None] = lambda line: None,
        devices: int | None = None,
        uncut: bool = False,
    ) -> None:
        if len(federation) != 1:
            raise ParcelError(f"a node is one client, but there are {len(federation)}.")
        self.federation, self.folder, self.log, self.devices = federation, folder, log, devices
        self.uncut = uncut
        self._desk: tuple[str, Desk] | None = None

    def answer(self, errand: Parcel) -> Parcel:
        """Do an errand; what cannot be done is answered with the reason."""
        errands = {
            "introduce": self._introduce,
            "train": self._train,
            "evaluate": self._evaluate,
            "finish": self._finish,
        }
        try:
            if errand.kind not in errands:
                raise ParcelError(f"this node does not know the errand {errand.kind!r}.")
            if errand.numbers.get("protocol") != PROTOCOL:
                raise ParcelError(
                    f"the server speaks protocol {errand.numbers.get('protocol')}, this node {PROTOCOL}; "
                    "install the same version of unalike on both."
                )
            return errands[errand.kind](errand)
        except UnalikeError as error:
            self.log(f"refused an errand: {error}")
            return Parcel("refusal", {"reason": str(error), "protocol": PROTOCOL})

    def _introduce(self, errand: Parcel) -> Parcel:
        rows = Rows.of(self.federation, self.uncut)
        named = rows.label_names is not None or rows.columns is not None
        more = ", and what labels and columns are called" if named else ""
        self.log(f"told the server how many rows there are{more}")
        return Parcel("introduction", {"rows": rows.write(), "protocol": PROTOCOL})

    def _train(self, errand: Parcel) -> Parcel:
        desk, began = self._at_desk(errand), perf_counter()
        job, last = whole(errand, "job"), whole(errand, "last")
        upload, report = desk.train(whole(errand, "round"), job, last, below(errand.arrays, "message"))
        desk.files.forget_before(whole(errand, "keep"))
        self.log(f"trained in round {whole(errand, 'round') + 1} ({perf_counter() - began:.1f} s)")
        arrays = {**prefixed("upload", upload), **prefixed("report", report)}
        return Parcel("upload", {"job": job, "seconds": perf_counter() - began}, arrays)

    def _evaluate(self, errand: Parcel) -> Parcel:
        split, message = str(errand.numbers.get("split")), below(errand.arrays, "message")
        if split not in ("train", "validation", "test"):
            raise ParcelError(f"there is no split {split!r}; allowed: train, validation, test.")
        values = self._at_desk(errand).evaluate(message, whole(errand, "round"), whole(errand, "last"), split)
        return Parcel("metrics", values)

    def _finish(self, errand: Parcel) -> Parcel:
        desk = self._at_desk(errand)
        message = desk.message(below(errand.arrays, "message"))
        path = self.folder / "models" / f"{desk.contract.run}.safetensors"
        save_tensors(path, message)
        self.log(f"training is over; the model is in {path}")
        return Parcel("farewell", {})

    def _at_desk(self, errand: Parcel) -> Desk:
        words = str(errand.numbers.get("contract"))
        if self._desk is None or self._desk[0] != words:
            contract = Contract.read(words)
            rows = as_agreed(self.federation, contract, self.uncut)
            self._desk = (words, Desk(contract, rows, self.folder, self.devices))
        return self._desk[1]


class Shapes(NamedTuple):
    """What messages and memories look like."""

    message: Tree
    memory: Tree


class Desk:
    """The local engine made ready for one contract."""

    def __init__(
        self, contract: Contract, federation: Federation, folder: Path, devices: int | None = None
    ) -> None:
        self.contract = contract
        task, algorithm, seed = contract.made(federation)
        if algorithm.decentralised:
            raise ParcelError(f"{contract.experiment['algorithm']} has no server.")
        place = Part(np.array([contract.number]), np.array([contract.importance]), contract.largest)
        setting = Setting(federation, task, algorithm, seed, None, devices, contract.watch, place)
        self.engine = LocalEngine(setting)
        self.files = MemoryFiles(folder, contract.run)
        self.shapes = _shapes(setting)

    def message(self, arrays: Mapping[str, NDArray[Any]]) -> Tree:
        """What was sent, as the algorithm takes it."""
        return arrays_to_tree(self.shapes.message, arrays)

    def train(
        self, round: int, job: int, last: int, arrays: Mapping[str, NDArray[Any]]
    ) -> tuple[Tree, Mapping[str, Any]]:
        """The client's upload and report; it starts as it was after job `last`."""
        memories = self._memories(last)
        step = Step(round, ME, np.array([round]), np.ones(1), jobs=np.array([job]))
        done = self.engine.visit(step, Told(self.message(arrays)), memories, keep=True)
        if memories:
            self.files.save(job, jax.tree.map(lambda leaf: leaf[0], memories.gather(ME)[0]))
        return jax.tree.map(lambda leaf: leaf[0], (done.uploads, dict(done.report)))

    def evaluate(
        self, arrays: Mapping[str, NDArray[Any]], round: int, last: int, split: str
    ) -> dict[str, float]:
        """The client's metrics, with the number of its rows as `samples`."""
        memories = self._memories(last)
        values = self.engine.evaluate(self.message(arrays), memories, split, round, ME)
        return {name: float(value[0]) for name, value in values.items()}

    def _memories(self, last: int) -> Memories:
        memories = Memories(self.shapes.memory, 1)
        if memories and last != NEVER:
            known = self.files.load(last, self.shapes.memory)
            if known is None:
                raise ParcelError(
                    f"this node does not remember its job {last} in run {self.contract.run}; its folder must "
                    "stay the same from start to start."
                )
            memories.scatter(ME, jax.tree.map(lambda leaf: np.asarray(leaf)[None], known))
        return memories


def _shapes(setting: Setting) -> Shapes:
    message = message_template(setting)
    return Shapes(message, reply_template(setting, message).memory)


def prefixed(name: str, tree: Tree) -> dict[str, NDArray[Any]]:
    """The arrays of a tree, each under `name/...` (a bare array as `name/`)."""
    return {f"{name}/{path}": array for path, array in tree_to_arrays(tree).items()}


def below(arrays: Mapping[str, NDArray[Any]], name: str) -> dict[str, NDArray[Any]]:
    """The inverse of :func:`prefixed`."""
    start = f"{name}/"
    return {path.removeprefix(start): array for path, array in arrays.items() if path.startswith(start)}


def whole(errand: Parcel, name: str) -> int:
    """A whole number that an errand must have."""
    value = errand.numbers.get(name)
    if type(value) is not int:
        raise ParcelError(f"the errand {errand.kind!r} does not say {name}.")
    return value
