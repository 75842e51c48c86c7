"""When is a model good enough to stop?  (Stopping rule by a metric.)

    stop after round n   if   n >= least_rounds   and   metric(n) is at least (a loss: at most) the target

The metric is one that is evaluated over all clients: `test_accuracy`, `validation_loss`, or `train_accuracy`,
which is evaluated on training rows for this alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..core.spec import Spec
from ..errors import ConfigError
from ..models import Task
from ..runs import Record, higher_is_better

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
        """From METRIC:TARGET or METRIC:TARGET,LEAST_ROUNDS."""
        spec = Spec.of(given)
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
                "such as test_accuracy:0.9 or train_accuracy:0.93,50."
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

    def is_reached(self, metrics: Mapping[str, float], done: int) -> bool:
        """Whether training may end after so many rounds, with what was just measured."""
        value = metrics.get(self.metric, np.nan)
        good = value >= self.target if higher_is_better(self.metric) else value <= self.target
        return bool(good and done >= self.least_rounds)

    def was_reached(self, record: Record, done: int) -> bool:
        """The same of a run that goes on after so many rounds, by what is on record."""
        columns = record.metrics()
        last = columns["round"] == done
        if self.metric not in columns or not last.any():
            return False
        return self.is_reached({self.metric: float(columns[self.metric][last][0])}, done)
