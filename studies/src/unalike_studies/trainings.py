"""Finished trainings of a long study, stored in files so that it can resume.

A training is known by all that decides what it comes to: the words of its study, the clients' rows and the
version of this package. Every finished one is a line of JSON; a line that a crash cut short is no line, and
its training is repeated.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from unalike import __version__
from unalike.data import Federation
from unalike.errors import RunError
from unalike.models import Task
from unalike.typing import Float64s

Say = Callable[[int, int], None]
"""Is told after each training how many are finished, and of how many."""


class Trainings:
    """What trainings came to: read where they are finished, and kept as soon as they are.

    >>> trainings = Trainings()
    >>> trainings.expect(2)
    >>> [trainings.numbers({"seed": seed}, lambda: np.ones(2)).tolist() for seed in (0, 0)]
    [[1.0, 1.0], [1.0, 1.0]]
    >>> trainings.finished, trainings.expected
    (2, 2)
    """

    def __init__(self, file: Path | None = None, say: Say | None = None) -> None:
        self._file, self._say = file, say
        self._known: dict[str, list[float]] = {} if file is None else _read(file)
        self.finished = self.expected = 0

    def expect(self, count: int) -> None:
        """So many more trainings are planned."""
        self.expected += count

    def numbers(self, decides: Mapping[str, Any], train: Callable[[], Float64s]) -> Float64s:
        """What the training that these words decide came to; it is trained if nobody has yet."""
        key = _key(decides)
        if key not in self._known:
            self._known[key] = [float(value) for value in train()]
            if self._file is not None:
                _append(self._file, key, self._known[key])
        self.finished += 1
        if self._say is not None:
            self._say(self.finished, self.expected)
        return np.array(self._known[key])


def describe_training(federation: Federation, task: Task) -> dict[str, str]:
    """What decides a training beside its method: rows, whose they are and how much they count, as a digest;
    the model by its parameters; the penalty."""
    parameters = jax.eval_shape(task.model.init, jax.random.key(0))
    return {"data": digest_of(federation), "parameters": str(parameters), "l2": str(task.l2)}


def digest_of(federation: Federation) -> str:
    """A few letters that differ where rows, their owners or importances do."""
    found = hashlib.blake2b(digest_size=8)
    for rows in (federation.train, federation.test):
        for values in (rows.x, rows.y, rows.sizes):
            found.update(np.ascontiguousarray(values).data)
    found.update(np.ascontiguousarray(federation.importance).data)
    return found.hexdigest()


def _key(decides: Mapping[str, Any]) -> str:
    return json.dumps({"version": __version__, **decides}, sort_keys=True)


def _read(file: Path) -> dict[str, list[float]]:
    """The whole lines of a file, if it is there."""
    if file.parent.exists() and not file.parent.is_dir():
        raise RunError(f"{file.parent} is a file; finished trainings need a folder.")
    if not file.exists():
        return {}
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise RunError(f"the finished trainings in {file} cannot be read ({error}).") from None
    return dict(found for line in lines if (found := _pair(line)) is not None)


def _pair(line: str) -> tuple[str, list[float]] | None:
    """A training and its numbers; None for anything else."""
    try:
        decides, numbers = json.loads(line)
        return json.dumps(decides, sort_keys=True), [float(value) for value in numbers]
    except (ValueError, TypeError):
        return None


def _append(file: Path, key: str, numbers: list[float]) -> None:
    """A line more, on the disk; a blank one before it ends a line that was cut short."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"\n[{key}, {json.dumps(numbers)}]\n")
            lines.flush()
            os.fsync(lines.fileno())
    except OSError as error:
        raise RunError(f"cannot keep finished trainings in {file} ({error}).") from None
