"""Metrics as additive statistics whose mean becomes a value.

A metric maps the outputs and labels of rows to a statistic of each row: a number, or an array such as a
table of zeros with a single one. A client's statistic is the mean over its rows, a federation's the mean of
its clients' weighted by their rows, and `finish` turns a mean into the value that people read. So statistics
compose exactly, wherever they are computed, and metrics that are not means over rows are still possible:

    rmse     the squared error of a row, whose mean's root is taken
    f1       a table with a one at (label, prediction), whose mean has all that F1 needs
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Array, Float64s
from ..losses import Outputs
from .merging import mean_of_all

Statistic = Callable[[jax.Array, jax.Array], jax.Array]
"""From outputs and labels to a number or an array for each row (leading axis)."""
CLASSES: tuple[Outputs, ...] = ("logits", "logit")
VALUES: tuple[Outputs, ...] = ("values",)
_NEEDS = {CLASSES: "classes", VALUES: "values"}


def identity(means: Array) -> Array:
    """The mean is the value."""
    return means


@dataclass(frozen=True)
class Metric:
    """How good predictions are, in a word that people use.

    >>> import jax.numpy as jnp
    >>> off = Metric("off_by_one", lambda outputs, y: abs(jnp.argmax(outputs, -1) - y) <= 1, share=True)
    >>> off.label, off.higher_is_better
    ('off by one', True)
    """

    name: str
    """What its columns are called after `test_`."""
    per_row: Statistic
    finish: Callable[[Array], Array] = identity
    """From means of the statistic (with a leading axis) to values, in NumPy."""
    higher_is_better: bool = True
    label: str = ""
    """What a person reads; the name, unless something else is said."""
    statistic: str = ""
    """What the statistic is called, so that metrics can share it; the name, where its mean is the value."""
    outputs: tuple[Outputs, ...] = ()
    """The kinds of outputs it takes, which tells the tasks that have it; any, if none is named."""
    share: bool = False
    """Whether values lie between 0 and 1 and are best read as percentages."""
    table: bool = False
    """Whether a value is a table, which is drawn and not written into a column."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.name.replace("_", " "))
        own = self.name if self.finish is identity else f"{self.name}_statistic"
        object.__setattr__(self, "statistic", self.statistic or own)

    def __call__(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        """The statistic of every row."""
        return self.per_row(outputs, y)

    def of_clients(self, means: Array) -> Float64s:
        """Every client's value, from its mean of the statistic; NaN for a client without rows."""
        known = ~np.isnan(means).any(axis=tuple(range(1, means.ndim)))
        values = np.full(len(means), np.nan)
        if known.any():
            values[known] = self.finish(means[known])
        return values

    def of_all(self, means: Array, samples: Float64s) -> float:
        """The value on all clients' rows together, from their means and numbers of rows."""
        return float(self.finish(mean_of_all(means, samples)[None])[0]) if (samples > 0).any() else np.nan


def finish_means(means: Mapping[str, Array], metrics: Mapping[str, Metric]) -> dict[str, Array]:
    """Clients' statistics with the values of metrics beside them; tables are their statistics."""
    numbers = [metric for metric in metrics.values() if not metric.table]
    return {**means, **{metric.name: metric.of_clients(means[metric.statistic]) for metric in numbers}}


metric_registry: Registry[Metric] = Registry("metric", "metrics")
Given = Mapping[str, object] | Iterable[str | Metric] | None
"""Metrics as people give them: names or metrics, or a metric or function of rows by name."""


def as_metrics(given: Given, kind: Outputs | None) -> dict[str, Metric]:
    """Metrics by name, for a task with such outputs; what does not fit is refused."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        made = [_with_name(name, metric) for name, metric in given.items()]
    else:
        made = [one if isinstance(one, Metric) else _find_metric(one, kind) for one in given or ()]
    answer: dict[str, Metric] = {}
    rows: dict[str, Statistic] = {}
    for metric in made:
        _check(metric, kind)
        if metric.name in answer or rows.setdefault(metric.statistic, metric.per_row) is not metric.per_row:
            raise ConfigError(f"the metric {metric.name} is there twice; each needs a name of its own.")
        answer[metric.name] = metric
    return answer


def _find_metric(spec: str, kind: Outputs | None) -> Metric:
    if kind is None:
        raise ConfigError(
            f"cannot validate metric {spec!r}: this loss does not say what the model's outputs are; pass "
            "outputs='logits', 'logit' or 'values'."
        )
    return metric_registry.make(spec, outputs=kind)


def _with_name(name: str, metric: Any) -> Metric:
    """A metric under a name; a plain function gives one number per row, and its name tells the direction."""
    from .columns import find_metric, higher_is_better

    if isinstance(metric, Metric):
        if name in (metric.name, metric.statistic):
            return metric
        own = name if metric.statistic == metric.name else metric.statistic
        return replace(metric, name=name, label="", statistic=own)
    root = find_metric("rmse")
    if root is not None and name == root.statistic:  # a mean of squares, whose root is what people read
        return replace(root, per_row=metric, outputs=())
    known = find_metric(name)
    words = {} if known is None else {"label": known.label, "share": known.share}
    return Metric(name, metric, higher_is_better=higher_is_better(name), **words)  # type: ignore[arg-type]


def _check(metric: Metric, kind: Outputs | None) -> None:
    if kind is None or not metric.outputs or kind in metric.outputs:
        return
    raise ConfigError(
        f"the metric {metric.name} is for tasks that predict {_NEEDS.get(metric.outputs, 'something else')}, "
        f"and this one predicts {'values' if kind in VALUES else 'classes'}."
    )
