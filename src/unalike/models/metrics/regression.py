"""Regression metrics: RMSE, MAE, predictive density, interval coverage.

A prediction is taken for the mean of a normal distribution where a density or an interval is asked for; its
standard deviation, the same for all rows, is said with the metric.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from statistics import NormalDist

import jax
import jax.numpy as jnp
import numpy as np

from ...errors import ConfigError
from ..losses import Outputs, _like, _sum_rows, absolute_error, cross_entropy, logistic
from .base import VALUES, Metric, Statistic, metric_registry


def mean_squared_error(predictions: jax.Array, targets: jax.Array) -> jax.Array:
    """The squared distance between prediction and target."""
    return _sum_rows((_like(predictions, targets) - targets) ** 2)


@metric_registry.add("rmse")
def rmse() -> Metric:
    """Root of the mean squared distance between prediction and target."""
    return Metric(
        "rmse",
        mean_squared_error,
        np.sqrt,
        higher_is_better=False,
        label="RMSE",
        statistic="mse",
        outputs=VALUES,
    )


@metric_registry.add("mae")
def mae() -> Metric:
    """Mean absolute error: the mean L1 distance between prediction and target."""
    return Metric("mae", absolute_error, higher_is_better=False, label="MAE", outputs=VALUES)


@metric_registry.add("nlpd")
def nlpd(deviation: float = 1.0, *, outputs: Outputs = "values") -> Metric:
    """Negative log predictive density: a classification's cross-entropy; a regression's predictions have a
    normal error with this standard deviation."""
    _check_deviation("nlpd", deviation)
    known: dict[Outputs, Statistic] = {"logits": cross_entropy, "logit": logistic}
    per_row = known.get(outputs) or _normal_density(float(deviation))
    return Metric("nlpd", per_row, higher_is_better=False, label="NLPD", outputs=(outputs,))


@metric_registry.add("interval_coverage")
def interval_coverage(level: float = 0.9, deviation: float = 1.0) -> Metric:
    """Share of targets in the normal interval of this level around the prediction, for this standard
    deviation; best when it is the level."""
    _check_deviation("interval_coverage", deviation)
    if not 0 < level < 1:
        raise ConfigError(f"the level of an interval lies between 0 and 1, but is {level}.")
    reach = deviation * NormalDist().inv_cdf((1 + level) / 2)
    return Metric("interval_coverage", _coverage(float(reach)), outputs=VALUES, share=True)


def _check_deviation(name: str, deviation: float) -> None:
    if not 0 < deviation < math.inf:
        raise ConfigError(f"{name} needs a standard deviation above 0, not {deviation}.")


@lru_cache(maxsize=16)
def _normal_density(deviation: float) -> Statistic:
    return partial(_minus_log_density, deviation=deviation)


def _minus_log_density(predictions: jax.Array, targets: jax.Array, deviation: float) -> jax.Array:
    away = (_like(predictions, targets) - targets) / deviation
    return _sum_rows(0.5 * away**2 + math.log(deviation) + 0.5 * math.log(2 * math.pi))


@lru_cache(maxsize=16)
def _coverage(reach: float) -> Statistic:
    return partial(_is_covered, reach=reach)


def _is_covered(predictions: jax.Array, targets: jax.Array, reach: float) -> jax.Array:
    away = jnp.abs(_like(predictions, targets) - targets)
    inside = (away <= reach).astype(jnp.float32).reshape(len(targets), -1)
    return jnp.where(jnp.isnan(away).reshape(len(targets), -1), jnp.nan, inside).mean(-1)
