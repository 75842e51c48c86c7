"""The best model of a run, kept beside the last.

The best is judged by the metric that judges clients, over all rows of validation, or, where there are none,
of testing: then those rows have chosen the model, and what they say of it is too good.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..core.run_files import BEST
from ..data import Federation
from ..errors import RunError
from ..models import Task
from ..models.metrics import deciding_metric
from ..runs import RunFolder, higher_is_better, load_tensors, restore, save_tensors
from ..typing import Message


def judging_metric(task: Task, federation: Federation) -> str:
    """The metric over all clients that says whether a model is better than another."""
    rows = "validation" if len(federation.validation.y) else "test" if len(federation.test.y) else "train"
    return f"{rows}_{deciding_metric(task.metrics) if rows != 'train' else 'loss'}"


class BestModel:
    """The best of the models that were evaluated."""

    def __init__(self, metric: str, folder: RunFolder | None = None) -> None:
        self.metric, self._folder = metric, folder
        self.round, self.value = -1, np.nan
        self._message: Message | None = None
        self._saved = -1

    def look(self, round: int, metrics: Mapping[str, float], message: Message) -> None:
        """Remember a model that is better than all before."""
        value = float(metrics.get(self.metric, np.nan))
        if round and is_better(value, self.value, self.metric):
            self.round, self.value, self._message = round, value, message

    def save(self) -> None:
        """Write the best model to the folder, if there is one and it is not there yet."""
        if self._folder is None or self._message is None or self._saved == self.round:
            return
        words = {"round": str(self.round), "metric": self.metric, "value": repr(self.value)}
        save_tensors(self._folder.path / BEST, self._message, words)
        self._folder.record.set_meta("best", f"{self.metric} {self.value:.4g} in round {self.round}")
        self._saved = self.round

    def resume(self, done: int, like: Message) -> None:
        """Go on with the best model of the rounds that were done; later ones will be found again."""
        path = None if self._folder is None else self._folder.path / BEST
        if path is None or not path.is_file():
            return
        try:
            tensors, words = load_tensors(path)
            found = int(words["round"])
            if words["metric"] == self.metric and found <= done:
                self.round, self.value, self._message = found, float(words["value"]), restore(like, tensors)
                self._saved = found
        except (RunError, KeyError, ValueError):
            return  # a damaged one is found again or replaced by a better one


def is_better(value: float, other: float, metric: str) -> bool:
    """Whether a value of a metric is better than another, which may not be known yet.

    >>> is_better(0.9, 0.8, "test_accuracy"), is_better(0.9, 0.8, "test_loss"), is_better(0.9, np.nan, "x")
    (True, False, True)
    """
    if not np.isfinite(value):
        return False
    return bool(np.isnan(other) or (value > other if higher_is_better(metric) else value < other))


def load_best(folder: Path, like: Message) -> Message:
    """The best model of a run folder."""
    if not (folder / BEST).is_file():
        raise RunError(f"{folder} has no best model beside the last one.")
    return restore(like, load_tensors(folder / BEST)[0])
