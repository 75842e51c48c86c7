"""Metrics: definitions and registry."""

from .base import Metric, as_metrics, finish_means, metric_registry
from .classification import (
    accuracy,
    auc,
    balanced_accuracy,
    calibration_error,
    class_discrepancy,
    confusion,
    f1,
    worst_class,
)
from .columns import (
    deciding_metric,
    find_metric,
    higher_is_better,
    is_share,
    label_of,
    metric_columns,
    metrics_for,
)
from .merging import divide_sums, mean_by_client, mean_of_all, stack_statistics
from .regression import interval_coverage, mae, mean_squared_error, nlpd, rmse

__all__ = [
    "Metric",
    "accuracy",
    "as_metrics",
    "auc",
    "balanced_accuracy",
    "calibration_error",
    "class_discrepancy",
    "confusion",
    "deciding_metric",
    "divide_sums",
    "f1",
    "find_metric",
    "finish_means",
    "higher_is_better",
    "interval_coverage",
    "is_share",
    "label_of",
    "mae",
    "mean_by_client",
    "mean_of_all",
    "mean_squared_error",
    "metric_columns",
    "metric_registry",
    "metrics_for",
    "nlpd",
    "rmse",
    "stack_statistics",
    "worst_class",
]
