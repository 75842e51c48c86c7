"""Benchmark scores: a metric per center, their mean, and models at other centers.

A metric that a center's rows leave undefined is NaN there, and the mean is that of the other centers: a rank
among patients of one class, or a concordance index without any event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ...data import Federation
from ...data.survival import times_and_events
from ...models.metrics import metric_registry
from ...models.metrics.concordance import concordance_index
from ...typing import Array, Float64s
from .strategies import LOCAL, Fitted

CONCORDANCE = "concordance"
NEEDS_BOTH = ("auc", "balanced_accuracy", "f1")
"""Metrics that mean nothing where all rows have the same class."""
ALL, MEAN = "all", "mean"
"""What is said of all test rows together, and of centers that count the same."""


class Scores(NamedTuple):
    """What a strategy reached on rows that it has not seen."""

    centers: Float64s
    together: float
    """On all centers' rows; of models that centers have by themselves, their mean on all rows."""
    elsewhere: Float64s | None
    """Model of a center (row) on the rows of a center (column), for local training."""

    @property
    def mean(self) -> float:
        """Over the centers where the metric is defined."""
        return mean_defined(self.centers)


def score(metric: str, outputs: Array, y: Array) -> float:
    """A metric of predictions; NaN where it is not defined.

    >>> score("auc", np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([1, 1]))
    nan
    """
    if not len(y) or not np.isfinite(outputs).all():
        return float("nan")
    if metric == CONCORDANCE:
        times, events = times_and_events(y)
        return concordance_index(times, events, outputs)
    if metric in NEEDS_BOTH and len(np.unique(y)) < 2:
        return float("nan")
    made = metric_registry.make(metric, outputs="logits")
    rows = np.asarray(made.per_row(jnp.asarray(outputs), jnp.asarray(y)), np.float64)
    return made.of_all(rows.mean(axis=0)[None], np.array([float(len(y))]))


def score_strategy(fitted: Fitted, federation: Federation, metric: str, part: str = "test") -> Scores:
    """A strategy's scores on the centers' rows of a part."""
    if fitted.has_personal_models:
        return _personal(fitted, federation, metric, part)
    split = getattr(federation, part)
    centers = range(len(federation))
    rows = [split.client(k) for k in centers]
    if fitted.strategy != LOCAL:
        predict = fitted.predictor(0)
        own = np.array([score(metric, predict(x), y) for x, y in rows])
        return Scores(own, score(metric, predict(split.x), split.y), None)
    models = [fitted.predictor(k) for k in centers]
    table = np.array([[score(metric, predict(x), y) for x, y in rows] for predict in models])
    together = mean_defined(np.array([score(metric, predict(split.x), split.y) for predict in models]))
    return Scores(np.diag(table).copy(), together, table)


def mean_defined(values: Float64s) -> float:
    """The mean of what is a number.

    >>> mean_defined(np.array([0.5, np.nan, 1.0]))
    0.75
    """
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def center_notes(federation: Federation, metric: str) -> list[str]:
    """A sentence for every center whose test rows leave the metric undefined, or easy."""
    notes = []
    for k in range(len(federation)):
        y = federation.test.client(k)[1]
        reason = _why_undefined(metric, y)
        if reason:
            notes.append(f"{federation.name(k)}: {metric} is not defined ({reason}); left out of the mean.")
        elif metric != CONCORDANCE and len(np.unique(y)) < 2:
            notes.append(
                f"{federation.name(k)}: all test rows have one class, so that always naming it is right."
            )
    return notes


def _why_undefined(metric: str, y: Sequence[float] | Array) -> str:
    if not len(y):
        return "no test rows"
    if metric == CONCORDANCE:
        times, events = times_and_events(y)
        same = np.isnan(concordance_index(times, events, np.zeros(len(times))))
        return "no event" if not events.any() else "no two patients can be compared" if same else ""
    return "one class" if metric in NEEDS_BOTH and len(np.unique(y)) < 2 else ""


def _personal(fitted: Fitted, federation: Federation, metric: str, part: str) -> Scores:
    """Methods that predict in their own way are asked to evaluate themselves."""
    found = fitted.run.evaluate(part)
    made = fitted.run.setting.task.metrics[metric]
    split = getattr(federation, part)
    defined = [not _why_undefined(metric, split.client(k)[1]) for k in range(len(federation))]
    together = made.of_all(found[made.statistic], found["samples"])
    return Scores(np.where(defined, found[metric], np.nan), together, None)
