"""Stopping rules: a target, or patience.

    target      stop after round n   if   n >= least_rounds   and   metric(n) is at least (a loss: at most) it
    patience    stop after round n   if   the best evaluation was `rounds` rounds ago or more

The metric is one that is evaluated over all clients: `test_accuracy`, `validation_loss`, or `train_accuracy`,
which is evaluated on training rows for this alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.spec import Spec
from ..errors import ConfigError
from ..models import Task
from ..runs import Record, higher_is_better
from .best_model import is_better
from .median_columns import decisive_columns

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class StopRule:
    """Stop when a metric reaches a target, but not before so many rounds.

    >>> rule = StopRule.of("test_accuracy:0.9,5")
    >>> [rule.is_reached({"test_accuracy": 0.95}, done) for done in (4, 5)]
    [False, True]
    """

    metric: str
    target: float
    least_rounds: int = 0

    @classmethod
    def of(cls, given: str | Spec) -> StopRule:
        """From METRIC:TARGET or METRIC:TARGET,LEAST_ROUNDS; `accuracy=0.9` is that of test rows.

        >>> StopRule.of("accuracy=0.9").metric
        'test_accuracy'
        """
        if not isinstance(given, str | Spec):
            raise ConfigError(
                f"stop_at must be a metric and its target, such as accuracy=0.9, not {given!r}."
            )
        spec = Spec.of(_as_people_write(given) if isinstance(given, str) else given)
        split, _, name = spec.name.partition("_")
        numbers = [a for a in spec.arguments if isinstance(a, int | float)]
        wrong = (
            len(numbers) != len(spec.arguments)
            or len(numbers) not in (1, 2)
            or not np.isfinite(numbers).all()
        )
        if split not in SPLITS or not name or wrong or (len(numbers) == 2 and numbers[1] != int(numbers[1])):
            raise ConfigError(
                f"stop_at = {spec.text!r} is not of the form METRIC:TARGET or METRIC:TARGET,LEAST_ROUNDS, "
                "such as accuracy=0.9, test_accuracy:0.9 or train_accuracy:0.93,50."
            )
        return cls(spec.name, float(numbers[0]), int(numbers[1]) if len(numbers) == 2 else 0)

    @property
    def split(self) -> str:
        """The rows on which the metric is measured."""
        return self.metric.partition("_")[0]

    def check(self, task: Task) -> None:
        """Raise where nothing of that name is measured."""
        known = ["loss", *(metric.name for metric in task.metrics.values() if not metric.table)]
        if self.metric.partition("_")[2] not in known:
            names = ", ".join(f"{self.split}_{name}" for name in known)
            raise ConfigError(f"stop_at cannot follow {self.metric!r}: measured are {names}.")
        self.check_range(task)

    def check_range(self, task: Task) -> None:
        """Raise for a target that the metric can never have, such as an accuracy of 90."""
        metric = task.metrics.get(self.metric.partition("_")[2])
        if metric is not None and metric.share and not 0 <= self.target <= 1:
            near = f", such as {self.target / 100:g}" if 1 < self.target <= 100 else ""
            raise ConfigError(
                f"{self.metric} is a share between 0 and 1, and cannot reach {self.target:g}; give a target "
                f"in that range{near}."
            )

    def is_reached(self, metrics: Mapping[str, float], done: int) -> bool:
        """Whether training may end after so many rounds, with what was just measured."""
        value = metrics.get(self.metric, np.nan)
        good = value >= self.target if higher_is_better(self.metric) else value <= self.target
        return bool(good and done >= self.least_rounds)

    def was_reached(self, record: Record, done: int) -> bool:
        """The same of a run that goes on after so many rounds, by what is on record."""
        columns = decisive_columns(record.metrics())
        last = columns["round"] == done
        if self.metric not in columns or not last.any():
            return False
        return self.is_reached({self.metric: float(columns[self.metric][last][0])}, done)


@dataclass(frozen=True)
class Patience:
    """Stop when a metric has not become better for so many rounds.

    >>> rule = Patience("test_accuracy", 2)
    >>> [rule.is_spent([(0, 0.1), (1, 0.5), (2, 0.4), (done, 0.4)]) for done in (2, 3)]
    [False, True]
    """

    metric: str
    rounds: int

    def is_spent(self, seen: Sequence[tuple[int, float]]) -> bool:
        """Whether, after these evaluations (round and value), it is time to stop."""
        best, when = np.nan, 0
        for done, value in seen:
            if is_better(value, best, self.metric):
                best, when = value, done
        return bool(seen) and seen[-1][0] - when >= self.rounds


class Stopping:
    """The rules of one training: the first that is met ends it."""

    def __init__(self, target: StopRule | None = None, patience: Patience | None = None) -> None:
        self.target, self.patience = target, patience
        self._seen: list[tuple[int, float]] = []

    def begin(self, record: Record, done: int) -> bool:
        """Go on after so many rounds with what is on record; whether it is time to stop already."""
        columns = decisive_columns(record.metrics())
        if self.patience is not None and self.patience.metric in columns:
            known = zip(columns["round"].tolist(), columns[self.patience.metric].tolist(), strict=True)
            self._seen = [(int(round), value) for round, value in known if np.isfinite(value)]
        reached = self.target is not None and self.target.was_reached(record, done)
        return reached or self._is_spent()

    def look(self, metrics: Mapping[str, float], done: int) -> bool:
        """Whether training may end after so many rounds, with what was just measured."""
        if self.patience is not None and self.patience.metric in metrics:
            self._seen.append((done, float(metrics[self.patience.metric])))
        reached = self.target is not None and self.target.is_reached(metrics, done)
        return reached or self._is_spent()

    def _is_spent(self) -> bool:
        return self.patience is not None and self.patience.is_spent(self._seen)


def _as_people_write(words: str) -> str:
    """`accuracy=0.9` as `test_accuracy:0.9`."""
    name, equals, value = words.partition("=")
    if not equals:
        return words
    split = name.strip().partition("_")[0]
    return f"{name.strip() if split in SPLITS else f'test_{name.strip()}'}:{value.strip()}"
