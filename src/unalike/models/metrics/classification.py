"""Classification metrics: accuracy, F1, AUC, calibration.

Outputs are logits of all classes, or one logit of yes beside labels above 0 for yes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import ConfigError
from ...typing import Array
from .base import CLASSES, Metric, Statistic, metric_registry

_FINE, _FAR = 0.1, 50.0
"""Log-odds z are binned evenly by asinh(z / fine): evenly near 0, by factors farther out, up to the far."""


def accuracy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """1 where the most likely class is the label."""
    if logits.shape[-1] == 1:
        return ((logits[..., 0] > 0) == (labels > 0)).astype(jnp.float32)
    return (jnp.argmax(logits, -1) == labels).astype(jnp.float32)


def confusion_cell(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """A table of zeros with a one at (label, prediction)."""
    scores, truth = _classes(logits, labels)
    each = jnp.arange(scores.shape[-1])
    said = jnp.argmax(scores, -1)
    return ((truth[:, None] == each)[:, :, None] & (said[:, None] == each)[:, None, :]).astype(jnp.float32)


@metric_registry.add("accuracy")
def accuracy_metric() -> Metric:
    """Share of rows whose most likely class is the label."""
    return Metric("accuracy", accuracy, outputs=CLASSES, share=True)


@metric_registry.add("balanced_accuracy")
def balanced_accuracy() -> Metric:
    """Mean over classes of the share of its rows that are found; classes without rows are left out."""
    return Metric(
        "balanced_accuracy",
        confusion_cell,
        _balanced_accuracy,
        statistic="confusion",
        outputs=CLASSES,
        share=True,
    )


@metric_registry.add("worst_class")
def worst_class() -> Metric:
    """Share of the rows of a class that are found, of the class where it is least."""
    finish = partial(_of_classes, choose=np.nanmin)
    return Metric("worst_class", confusion_cell, finish, statistic="confusion", outputs=CLASSES, share=True)


@metric_registry.add("class_discrepancy")
def class_discrepancy() -> Metric:
    """Per-class discrepancy: the share of its rows that is found, of the best class less of the worst."""
    return Metric(
        "class_discrepancy",
        confusion_cell,
        partial(_of_classes, choose=_range),
        higher_is_better=False,
        statistic="confusion",
        outputs=CLASSES,
        share=True,
    )


@metric_registry.add("f1")
def f1() -> Metric:
    """Macro F1: mean over classes of 2 hits / (rows + predictions); classes that never occur are left out."""
    return Metric("f1", confusion_cell, _macro_f1, label="F1", statistic="confusion", outputs=CLASSES)


@metric_registry.add("confusion")
def confusion() -> Metric:
    """Table of labels (rows) and predictions (columns); it is drawn in the report, and is no column."""
    return Metric("confusion", confusion_cell, outputs=CLASSES, table=True)


@metric_registry.add("auc")
def auc(bins: int = 200) -> Metric:
    """Area under the ROC curve; with more than two classes, the mean of each against the rest.

    Scores are counted in `bins` bins, and two scores in the same bin are a tie. With p_b and n_b the shares
    of positive and negative rows in bin b, the error is at most 1/2 sum_b p_b n_b: 1/400 for scores that are
    spread evenly over 200 bins and tell nothing, and less the more they tell; more, where a model says much
    the same of all rows. Bins are the same for all clients: even in asinh(z / 0.1) for the log-odds z against
    chance, from -50 to 50. A class whose rows are all or none of a client's is left out; without any other,
    the AUC is unknown. A client's statistic has 2 x bins numbers for each class (for two classes, once).
    """
    _check_bins("auc", bins)
    return Metric("auc", _scores_by_bin(bins), _area, label="AUC", outputs=CLASSES)


@metric_registry.add("calibration_error")
def calibration_error(bins: int = 15) -> Metric:
    """Expected calibration error: how far confidence is from accuracy, over bins of confidence."""
    _check_bins("calibration_error", bins)
    return Metric(
        "calibration_error",
        _overconfidence_by_bin(bins),
        _absolute_sum,
        higher_is_better=False,
        outputs=CLASSES,
    )


def _check_bins(name: str, bins: int) -> None:
    if not isinstance(bins, int) or not 1 <= bins <= 10_000:
        raise ConfigError(f"{name} counts rows in 1 to 10000 bins, not in {bins}.")


def _classes(logits: jax.Array, labels: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Logits of at least two classes, and labels from 0."""
    if labels.ndim != 1:
        raise ConfigError(f"this metric needs one label per row, but labels have shape {labels.shape}.")
    if logits.ndim > 1 and logits.shape[-1] > 1:
        return logits, labels
    yes = logits.reshape(-1, 1)
    return jnp.concatenate([jnp.zeros_like(yes), yes], axis=-1), (labels > 0).astype(jnp.int32)


@lru_cache(maxsize=16)
def _scores_by_bin(bins: int) -> Statistic:
    return partial(_score_cell, bins=bins)


def _score_cell(logits: jax.Array, labels: jax.Array, bins: int) -> jax.Array:
    """For each class a table of zeros with a one at (bin of its log-odds, whether it is the label); of two
    classes, the second alone."""
    scores, truth = _classes(logits, labels)
    odds = _log_odds(scores)
    yes = truth[:, None] == jnp.arange(scores.shape[-1])
    if scores.shape[-1] == 2:
        odds, yes = odds[:, 1:], yes[:, 1:]
    place = jnp.floor((1 + jnp.arcsinh(odds / _FINE) / math.asinh(_FAR / _FINE)) / 2 * bins)
    place = jnp.clip(place, 0, bins - 1)
    cell = (place[..., None] == jnp.arange(bins))[..., None] & (yes[..., None] == jnp.array([False, True]))[
        :, :, None, :
    ]
    return jnp.where(jnp.isnan(odds)[..., None, None], jnp.nan, cell.astype(jnp.float32))


def _log_odds(scores: jax.Array) -> jax.Array:
    """The log-odds of each class against all others, 0 where all classes are as likely; without a loss of
    digits where one is almost sure."""
    if scores.shape[-1] == 2:
        gap = scores[:, 1] - scores[:, 0]
        return jnp.stack([-gap, gap], -1)
    itself = jnp.eye(scores.shape[-1], dtype=bool)
    others = jax.nn.logsumexp(jnp.where(itself, -jnp.inf, scores[:, None, :]), axis=-1)
    return scores - others + math.log(scores.shape[-1] - 1)


@lru_cache(maxsize=16)
def _overconfidence_by_bin(bins: int) -> Statistic:
    return partial(_overconfidence, bins=bins)


def _overconfidence(logits: jax.Array, labels: jax.Array, bins: int) -> jax.Array:
    """Zeros with confidence minus correctness in the bin (low, high] of the confidence."""
    scores, truth = _classes(logits, labels)
    sure = jnp.max(jax.nn.softmax(scores), -1)
    gap = sure - (jnp.argmax(scores, -1) == truth)
    place = jnp.clip(jnp.ceil(sure * bins) - 1, 0, bins - 1)
    cells = jnp.where(place[:, None] == jnp.arange(bins), gap[:, None], 0.0)
    return jnp.where(jnp.isnan(gap)[:, None], jnp.nan, cells)


def _absolute_sum(gaps: Array) -> Array:
    return np.abs(gaps).sum(-1)


def _balanced_accuracy(tables: Array) -> Array:
    rows, hits = tables.sum(-1), np.diagonal(tables, axis1=-2, axis2=-1)
    return _mean_where(hits, rows, rows > 0)


def _of_classes(tables: Array, choose: Callable[..., Array]) -> Array:
    """A number of the shares of rows that are found, of the classes that have rows."""
    rows, hits = tables.sum(-1), np.diagonal(tables, axis1=-2, axis2=-1)
    return choose(np.where(rows > 0, hits / np.where(rows > 0, rows, 1.0), np.nan), axis=-1)


def _range(shares: Array, axis: int) -> Array:
    return np.nanmax(shares, axis=axis) - np.nanmin(shares, axis=axis)


def _macro_f1(tables: Array) -> Array:
    both, hits = tables.sum(-1) + tables.sum(-2), np.diagonal(tables, axis1=-2, axis2=-1)
    return _mean_where(2 * hits, both, both > 0)


def _area(counts: Array) -> Array:
    negative, positive = counts[..., 0], counts[..., 1]
    below = np.cumsum(negative, -1) - negative
    wins = (positive * (below + negative / 2)).sum(-1)
    pairs = positive.sum(-1) * negative.sum(-1)
    return _mean_where(wins, pairs, pairs > 0)


def _mean_where(above: Array, below: Array, known: Array) -> Array:
    """The mean of fractions over those classes that are known; NaN where none is."""
    fractions = np.divide(above, below, out=np.zeros(above.shape), where=known)
    count = known.sum(-1)
    return np.divide(fractions.sum(-1), count, out=np.full(count.shape, np.nan), where=count > 0)
