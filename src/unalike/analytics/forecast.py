"""Predictions for new rows with their uncertainty, and scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.stats

from ..errors import ConfigError, DataError
from ..typing import Array, Bools, Float64s


@dataclass(frozen=True)
class Forecast:
    """Predictions of new rows; NaN for a row that cannot be predicted.

    >>> Forecast(np.zeros(1), np.ones(1)).interval(0.95).round(2)
    array([[-1.96,  1.96]])
    """

    mean: Float64s
    std: Float64s | None = None
    """Of a new response, where it is known."""
    freedom: float = np.inf
    """Degrees of freedom behind `std`."""

    def interval(self, level: float) -> Float64s:
        """Where new responses will be, one row (lower, upper) each."""
        check_level(level)
        if self.std is None:
            raise ConfigError("predictions without a standard deviation have no intervals.")
        reach = scipy.stats.t.ppf(0.5 + level / 2, self.freedom) * self.std
        return np.column_stack([self.mean - reach, self.mean + reach])

    def answer(self, return_std: bool, interval: float | None) -> Any:
        """What `predict` returns: the predictions, and after them what is asked for beside."""
        more = [self.std] if return_std else []
        if interval is not None:
            more.append(self.interval(interval))
        return (self.mean, *more) if more else self.mean

    def at(self, known: Bools) -> Forecast:
        """The same predictions at the known places of more rows, and NaN elsewhere."""
        std = None if self.std is None else _spread(self.std, known)
        return replace(self, mean=_spread(self.mean, known), std=std)


@dataclass(frozen=True)
class DrawnForecast(Forecast):
    """Predictions whose intervals are quantiles of draws of the mean response (draws x rows)."""

    draws: Float64s | None = None
    noise: float = 0.0
    """The variance of a response around its mean."""
    seed: ClassVar[int] = 0

    def interval(self, level: float) -> Float64s:
        check_level(level)
        draws = np.asarray(self.draws)
        # One draw of the noise for all rows: a row's interval does not depend on the rows beside it.
        noise = np.sqrt(self.noise) * np.random.default_rng(self.seed).normal(size=(len(draws), 1))
        tail = (1 - level) / 2
        return np.quantile(draws + noise, [tail, 1 - tail], axis=0).T


def check_level(level: float) -> None:
    """Raise where the level of an interval is none."""
    if not 0 < level < 1:
        raise ConfigError(f"the level of an interval lies between 0 and 1, but is {level}.")


def select_predicted_rows(predicted: Array, y: Any) -> tuple[Array, Array]:
    """The predictions and responses of the rows that can be predicted."""
    y = np.asarray(y).reshape(-1)
    if len(y) != len(predicted):
        raise DataError(f"{len(predicted)} rows need as many responses, but there are {len(y)}.")
    known = predicted != "" if predicted.dtype.kind in "UO" else np.isfinite(predicted)
    if not known.any():
        raise DataError("there is no row that can be predicted, and so nothing to judge by.")
    return predicted[known], y[known]


def r_squared(predicted: Array, y: Any) -> float:
    """R^2, the share of the responses' variance that predictions explain, over the rows that have one.

    >>> r_squared(np.array([1.0, 2.0, np.nan]), [1.0, 2.0, 5.0])
    1.0
    """
    predicted, y = select_predicted_rows(predicted, np.asarray(y, np.float64))
    if len(y) < 2 or not np.ptp(y):
        raise DataError("R^2 needs at least two different responses.")
    return 1 - float(np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2))


def _spread(values: Float64s, known: Bools) -> Float64s:
    everywhere = np.full(len(known), np.nan)
    everywhere[known] = values
    return everywhere
