"""Calibration of predictions: errors, coverage of intervals, calibration curves.

coverage(level) = share of observations within  mean +- z(level) std          level itself, if calibrated
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from ...errors import ConfigError
from ...typing import Float64s
from .client_process import ClientProcess


class Accuracy(NamedTuple):
    """How good predictions of some rows are."""

    rows: int
    rmse: float
    coverage: float
    """The share of observations inside their intervals."""
    log_loss: float
    """The mean negative log density of observations."""


def coverage(mean: Float64s, std: Float64s, y: Any, levels: Sequence[float] = (0.95,)) -> Float64s:
    """The share of observations inside the central interval of each level.

    >>> coverage(np.zeros(3), np.ones(3), [0.1, 1.0, 3.0], (0.5, 0.95))
    array([0.33333333, 0.66666667])
    """
    if not all(0 < level < 1 for level in levels):
        raise ConfigError("levels of intervals must lie between 0 and 1.")
    distance = np.abs(np.asarray(y, np.float64) - mean) / std
    return np.array([(distance <= norm.ppf(0.5 + level / 2)).mean() for level in levels])


def accuracy_of(process: ClientProcess, x: Any, y: Any, level: float = 0.95) -> Accuracy:
    """Error, coverage and log loss of a client's predictions, in its units."""
    mean, std = process.predict(x, return_std=True)
    inside = float(coverage(mean, std, y, (level,))[0])
    rmse = float(np.sqrt(np.mean((mean - y) ** 2)))
    return Accuracy(len(mean), rmse, inside, float(-norm.logpdf(y, mean, std).mean()))
