"""The client configuration that nodes receive: what they need, and nothing else.

A node keeps its rows. It is told which model and which method are trained, and its place among the clients:
its number (its random draws depend on it), how many there are, what it counts for, and the rows of the
largest of them. It is also told what all clients call their labels and columns, in which order. These words
go with every request, so a node that was started again needs no memory of the run.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..aggregation.observed_updates import WATCHED
from ..algorithms import Algorithm
from ..algorithms.shared.local_state import keep_state
from ..core.pixels import as_floats
from ..data import Federation, Split
from ..errors import ConfigError
from ..experiments.build import make_algorithm, make_task
from ..experiments.config import Experiment, make_experiment, settings_of
from ..models import Task
from ..typing import Document, Int64s
from .name_checks import LONGEST_COLUMN, Names, read_name, read_names
from .transport.messages import MessageError, declared_bytes

SPLITS = ("train", "validation", "test")
PROTOCOL = 2
"""Raised when requests change so that old nodes cannot run them."""
TOLD = settings_of(served="told")
"""What a node is told of the experiment."""
MOST_CLASSES, MOST_CLIENTS, LARGEST_ROW = 10**5, 10**6, 2**30
"""More than these (the last in bytes) are taken for a lie, since the other side would have to make room."""


@dataclass(frozen=True)
class NodeRows:
    """What a node tells of its rows: how many, of what shape and type, and what they are called; never the
    rows."""

    train: int
    validation: int
    test: int
    classes: int
    """Labels are 0 to classes - 1; 0 for a regression."""
    shape: tuple[int, ...]
    target: tuple[int, ...]
    types: tuple[str, str]
    label_names: Names | None = None
    columns: Names | None = None
    target_name: str | None = None
    uncut: bool = False
    """Whether all rows are counted as training rows, for the server to say how they are cut."""
    streaming: bool = False
    """Whether rows come and go; `train` is then how many there is room for."""
    group: str | None = None
    """To which group of clients the node belongs, if it says so."""

    @classmethod
    def of(cls, federation: Federation, uncut: bool = False, streaming: bool = False) -> NodeRows:
        """Of a node's own federation, which has one client."""
        train = federation.train
        sizes = len(train.y), len(federation.validation.y), len(federation.test.y)
        types = (as_floats(train.x[:0]).dtype.name, train.y.dtype.name)  # models see images as floats
        shapes = (tuple(train.x.shape[1:]), tuple(train.y.shape[1:]))
        labels, columns = federation.label_names, federation.columns
        counts = (*sizes, len(labels or ()) or federation.classes or 0)
        group = None if federation.groups is None else federation.groups[0]
        return cls(*counts, *shapes, types, labels, columns, federation.target, uncut, streaming, group)

    @classmethod
    def read(cls, words: str) -> NodeRows:
        """From what :meth:`write` wrote, by a node that need not be honest."""
        try:
            given = json.loads(words)
            train, validation, test, classes = (_count(given[name]) for name in (*SPLITS, "classes"))
            shape, target = (tuple(_count(n) for n in given[name]) for name in ("shape", "target"))
            x, y = (str(name) for name in given["types"])
            labels, columns = read_names(given["label_names"], "labels"), _read_columns(given["columns"])
            name, uncut = given["target_name"], given["uncut"] is True
            streaming = given.get("streaming") is True
            predicted = None if name is None else read_name(name, "target")
            group = None if given.get("group") is None else read_name(given["group"], "group")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise MessageError(f"what the node says of its rows cannot be read ({error}).") from None
        if not train:
            raise MessageError("the node has no training rows.")
        largest = max(declared_bytes("row", x, shape), declared_bytes("target", y, target))
        if classes > MOST_CLASSES or largest > LARGEST_ROW:
            raise MessageError(
                f"{classes} classes and rows of {largest} bytes are more than a node can have."
            )
        if labels is not None and len(labels) != classes:
            raise MessageError(f"{classes} classes cannot have {len(labels)} names.")
        if columns is not None and shape != (len(columns),):
            raise MessageError(f"rows of shape {shape} cannot have {len(columns)} names of columns.")
        if uncut and (validation or test):
            raise MessageError("rows that are not cut cannot be for validation or for testing.")
        if uncut and streaming:
            raise MessageError("rows that come and go cannot be cut by the server.")
        counts = (train, validation, test, classes)
        return cls(*counts, shape, target, (x, y), labels, columns, predicted, uncut, streaming, group)

    def write(self) -> str:
        """As JSON, for the wire; nodes that keep all of their rows say nothing of streams, and those without
        a group nothing of groups."""
        told = {k: value for k, value in asdict(self).items() if value or k not in ("streaming", "group")}
        return json.dumps(told, ensure_ascii=False)


@dataclass(frozen=True)
class ClientConfig:
    """What one node is told: the method, and its place among the clients."""

    run: str
    """Which training this is; what a client remembers of another does not count."""
    experiment: Document
    number: int
    clients: int
    importance: float
    largest: int
    classes: int
    watch: tuple[str, ...] = ()
    label_names: Names | None = None
    """What label 0, label 1, ... mean."""
    columns: Names | None = None
    """What the features are called, in order."""

    def write(self) -> str:
        """As JSON, for the wire."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @classmethod
    def read(cls, words: str) -> ClientConfig:
        """From what :meth:`write` wrote; anything else is refused."""
        try:
            given = json.loads(words)
            names = {
                "label_names": read_names(given["label_names"], "labels"),
                "columns": _read_columns(given["columns"]),
            }
            told = {**given["experiment"]}
            made = cls(**{**given, **names, "watch": tuple(given["watch"]), "experiment": told})
            if not all(isinstance(name, str) for name in made.watch):
                raise ValueError("what is watched must be names")
            strange = sorted(set(made.experiment) - set(TOLD) | set(made.watch) - set(WATCHED))
            places = [_count(getattr(made, name)) for name in ("number", "clients", "largest", "classes")]
            possible = places[0] < places[1] <= MOST_CLIENTS and 0 <= made.importance <= 1
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise MessageError(f"the request's contract cannot be read ({error}).") from None
        if strange:
            raise MessageError(f"{', '.join(strange)} of an experiment are not a node's business.")
        if not (
            isinstance(made.run, str) and made.run.isascii() and made.run.isalnum() and len(made.run) < 65
        ):
            raise MessageError("a run must be called by letters and digits.")
        if not possible or not places[2] or places[3] > MOST_CLASSES:
            raise MessageError("the request gives this node an impossible place among the clients.")
        for what in ("label_names", "columns"):
            names = getattr(made, what)
            if names is not None and len(set(names)) < len(names):
                raise MessageError(f"the request's {what.replace('_', ' ')} are not all different.")
        if made.label_names is not None and len(made.label_names) != made.classes:
            raise MessageError("the request has another number of labels than of classes.")
        return made

    def made(self, federation: Federation) -> tuple[Task, Algorithm, int]:
        """The task, the algorithm made ready, and the seed, for a node with these rows."""
        try:
            experiment = make_experiment(self.experiment)
            kind = replace(NodeRows.of(federation), train=self.largest, validation=0, test=0, group=None)
            words = experiment.model_dump_json(include={"model", "state", "l2", "metrics"})
            task = _task(words, kind, self.classes)
            everyone = far_federation([kind] * self.clients, self.classes)
            algorithm = keep_state(make_algorithm(experiment), task)
            return task, algorithm.prepare(task, everyone), experiment.seed
        except ConfigError as error:
            raise MessageError(f"the request asks for something impossible: {error}") from None


@lru_cache(maxsize=16)
def _task(words: str, kind: NodeRows, classes: int) -> Task:
    """One task for all contracts with the same model, so that what was compiled for one serves the others."""
    return make_task(make_experiment(json.loads(words)), far_federation([kind], classes))


def client_settings(experiment: Experiment) -> Document:
    """What nodes are told of an experiment; of metrics and state only where something is asked for."""
    told = {name: getattr(experiment, name) for name in TOLD}
    silent = [name for name in ("metrics", "state") if told[name] is None]
    return {name: value for name, value in told.items() if name not in silent}


def far_federation(
    rows: list[NodeRows], classes: int | None = None, names: tuple[str, ...] = ()
) -> Federation:
    """Clients whose rows are elsewhere: sizes and shapes are real, every row is a zero that takes no room.

    >>> far = far_federation([NodeRows(3, 0, 1, 2, (4,), (), ("float32", "int32"))] * 2)
    >>> far.train.sizes.tolist(), far.train.x.shape, far.train.x.strides
    ([3, 3], (6, 4), (0, 0))
    """
    labels = max(one.classes for one in rows) if classes is None else classes
    sizes = [[getattr(one, split) for one in rows] for split in SPLITS]
    parts = [_zeros(np.array(counts, np.int64), rows[0]) for counts in sizes]
    return Federation(parts[0], parts[1], parts[2], labels or None, names or None, None, "rows of their own")


def _zeros(sizes: Int64s, like: NodeRows) -> Split:
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    x, y = (
        np.broadcast_to(np.zeros((), kind), (int(offsets[-1]), *shape))
        for kind, shape in zip(like.types, (like.shape, like.target), strict=True)
    )
    return Split(x, y, offsets)


def _read_columns(given: Any) -> Names | None:
    return read_names(given, "columns", LONGEST_COLUMN)


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**31:
        raise ValueError(f"{value!r} is not a number of rows or a length")
    return value
