"""Metrics: definitions and registry."""

from .base import Metric, as_metrics, finished, metric_registry
from .classification import accuracy, auc, balanced_accuracy, calibration_error, confusion, f1
from .columns import (
    find_metric,
    higher_is_better,
    is_share,
    judged_metric,
    label_of,
    measured_columns,
    metrics_for,
)
from .merging import divided, mean_by_client, mean_of_all, stacked
from .regression import interval_coverage, mae, mean_squared_error, nlpd, rmse

__all__ = [
    "Metric",
    "accuracy",
    "as_metrics",
    "auc",
    "balanced_accuracy",
    "calibration_error",
    "confusion",
    "divided",
    "f1",
    "find_metric",
    "finished",
    "higher_is_better",
    "interval_coverage",
    "is_share",
    "judged_metric",
    "label_of",
    "mae",
    "mean_by_client",
    "mean_of_all",
    "mean_squared_error",
    "measured_columns",
    "metric_registry",
    "metrics_for",
    "nlpd",
    "rmse",
    "stacked",
]
