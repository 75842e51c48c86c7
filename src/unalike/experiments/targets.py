"""Costs to a target metric: rounds, bytes and simulated time.

A target is a metric and a value, `accuracy=0.9` or `test_loss:0.5`, in the words of stopping rules. It is
reached at the first evaluation that measures it, so evaluations decide how finely that is known.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import ConfigError, unknown
from ..models import Task
from ..runs.comparison import REACHED
from ..training.early_stopping import SPLITS, StopRule
from ..typing import Array, Float64s


def read_target(words: str) -> StopRule:
    """A target in words; a metric without a split is that of test rows.

    >>> read_target("accuracy=0.9") == read_target("test_accuracy:0.9") == StopRule("test_accuracy", 0.9)
    True
    """
    text = words.strip().replace("=", ":", 1)
    split = text.partition("_")[0]
    try:
        rule = StopRule.of(text if split in SPLITS else f"test_{text}")
    except ConfigError:
        rule = StopRule("", 0.0, least_rounds=1)
    if rule.least_rounds:
        raise ConfigError(
            f"the target {words!r} is not of the form METRIC=VALUE, such as accuracy=0.9 or test_loss=0.5."
        )
    return rule


def check_target(target: StopRule, task: Task) -> None:
    """Raise where no run measures it."""
    known = ["loss", *(metric.name for metric in task.metrics.values() if not metric.table)]
    if target.metric not in (measured := ["train_loss", *(f"test_{name}" for name in known)]):
        raise unknown("metric of a target", target.metric, measured)
    target.check_range(task)


def to_target(columns: Mapping[str, Array], target: StopRule) -> dict[str, float]:
    """What a run with these columns took to reach the target; NaN where it did not.

    >>> columns = {"round": np.arange(3), "test_accuracy": np.array([0.1, 0.5, 0.9])}
    >>> columns |= {"bytes_up": np.array([np.nan, 4.0, 4.0]), "clock": np.array([np.nan, 0.5, 1.5])}
    >>> to_target(columns, StopRule("test_accuracy", 0.9))
    {'reached_target': 1.0, 'rounds_to_target': 2.0, 'bytes_to_target': 8.0, 'time_to_target': 1.5}
    """
    rounds = columns["round"]
    values = columns.get(target.metric, np.full(len(rounds), np.nan))
    good = [target.is_reached({target.metric: float(value)}, 0) for value in values]
    if not any(good):
        missed = ("rounds_to_target", "bytes_to_target", "time_to_target")
        return {REACHED: 0.0, **dict.fromkeys(missed, np.nan)}
    first = good.index(True)
    sent = sum(float(np.nansum(columns.get(name, np.zeros(1))[: first + 1])) for name in _TRAFFIC)
    return {
        REACHED: 1.0,
        "rounds_to_target": float(rounds[first]),
        "bytes_to_target": sent,
        "time_to_target": float(simulated_clock(columns)[first]),
    }


_TRAFFIC = ("bytes_up", "bytes_down")


def simulated_clock(columns: Mapping[str, Array]) -> Float64s:
    """The simulated time of each round; it begins at zero."""
    rounds = np.asarray(columns["round"], np.float64)
    return np.where(rounds == 0, 0.0, np.asarray(columns.get("clock", rounds), np.float64))


def has_clock(columns: Mapping[str, Array]) -> bool:
    """Whether time says anything that the number of rounds does not."""
    return not np.array_equal(simulated_clock(columns), columns["round"])
