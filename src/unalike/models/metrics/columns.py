"""Metric columns of a record: from names such as `test_rmse` to metrics, and back.

Names that are no metric, such as `bytes_up`, are understood by their words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from ...errors import ConfigError
from .base import CLASSES, VALUES, Metric, metric_registry

PREFIXES = ("mean_model_", "median_", "test_", "validation_", "train_", "unseen_", "clients_", "prequential_")
"""On what, or with what, a metric was measured."""
_LOWER_IS_BETTER = {
    *("loss", "losses", "rmse", "mse", "mae", "error", "errors", "bytes", "seconds", "rejected", "regret"),
    *("perplexity", "nll"),
}
_USUAL = {CLASSES: "accuracy", VALUES: "rmse"}


def metrics_for(classes: int | None) -> dict[str, Metric]:
    """The metrics that are reported for a classification (`classes` given) or a regression, unless others
    are asked for."""
    metric = metric_registry.make(_USUAL[CLASSES if classes else VALUES])
    return {metric.name: metric}


def find_metric(column: str) -> Metric | None:
    """The known metric that a column holds, or None.

    >>> find_metric("mean_model_test_rmse").label, find_metric("bytes_up")
    ('RMSE', None)
    """
    name = base_name(column)
    if name not in metric_registry:
        return None
    with suppress(ConfigError):  # one that cannot be made without arguments
        return metric_registry.make(name)
    return None


def base_name(column: str) -> str:
    """A column's name without what it was measured on.

    >>> base_name("mean_model_test_accuracy"), base_name("test_"), base_name("bytes_up")
    ('accuracy', 'test_', 'bytes_up')
    """
    for prefix in PREFIXES:
        if column.startswith(prefix) and column != prefix:
            column = column.removeprefix(prefix)
    return column


def higher_is_better(column: str) -> bool:
    """Whether larger values are the good ones: as the metric says or, where it is not known, by whole words.

    >>> [higher_is_better(name) for name in ("test_f1", "test_rmse", "bytes_up", "error_free_rate")]
    [True, False, False, True]
    """
    metric = find_metric(column)
    if metric is not None:
        return metric.higher_is_better
    words = column.lower().split("_")
    after = [*words[1:], ""]
    bad = [word in _LOWER_IS_BETTER and then != "free" for word, then in zip(words, after, strict=True)]
    return not any(bad)


def label_of(column: str) -> str:
    """A column in words.

    >>> label_of("test_rmse"), label_of("bytes_up"), label_of("test_balanced_accuracy")
    ('test RMSE', 'bytes up', 'test balanced accuracy')
    """
    metric = find_metric(column)
    if metric is None:
        return column.replace("_", " ").strip()
    before = column.removesuffix(base_name(column))
    return before.replace("_", " ") + metric.label


def is_share(column: str) -> bool:
    """Whether a column lies between 0 and 1 and is best read as a percentage.

    >>> is_share("test_accuracy"), is_share("test_f1"), is_share("my_accuracy")
    (True, False, True)
    """
    metric = find_metric(column)
    return "accuracy" in column.split("_") if metric is None else metric.share


def deciding_metric(metrics: Mapping[str, Metric]) -> str:
    """The name of the first metric that is a number, by which clients are judged; without one, the loss.

    >>> deciding_metric(metrics_for(10)), deciding_metric({})
    ('accuracy', 'loss')
    """
    return next((name for name, metric in metrics.items() if not metric.table), "loss")


def metric_columns(
    columns: Iterable[str], prefix: str = "test_", first: Sequence[str] = ()
) -> tuple[str, ...]:
    """Columns of metrics with this prefix: those asked for first, then those that are known, and others.

    >>> metric_columns(["test_auc", "test_accuracy", "test_mine", "test_loss", "test_samples", "clock"])
    ('test_accuracy', 'test_auc', 'test_mine')
    """
    there = [name.removeprefix(prefix) for name in columns if name.startswith(prefix)]
    there = [name for name in there if name not in ("loss", "samples", "bottom_decile")]
    order = {name: place for place, name in enumerate(dict.fromkeys([*first, *metric_registry]))}
    return tuple(prefix + name for name in sorted(there, key=lambda name: order.get(name, len(order))))
