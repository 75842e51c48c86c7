"""Averaged root mean squared error over devices.

A-RMSE  =  mean over devices of  sqrt( mean over its rows of (x' theta_k - y)^2 )
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from ...errors import ConfigError, DataError
from ...typing import Float64s
from ..design import Design

T = TypeVar("T")


def require_fitted(learned: T | None) -> T:
    """What `fit` has learned; a `ConfigError` before."""
    if learned is None:
        raise ConfigError("nothing is fitted yet; call fit(data) first.")
    return learned


def check_response(design: Design) -> None:
    """Raise where a client's response never varies, so that it has no noise to speak of."""
    if not design.is_here:
        return
    for i, rows in enumerate(design.federation.train.sizes):
        if rows > 1 and np.ptp(design.client(i)[1]) == 0:
            name = design.federation.name(i)
            raise DataError(f"the response of client {name!r} never varies; leave the client out.")


def predict_each(design: Design, params: Float64s, split: str = "test") -> Float64s:
    """The predictions for all rows of a split, each with its device's row of `params`."""
    part = getattr(design.federation, split)
    return np.einsum("nd,nd->n", part.x, params[part.owners])


def device_rmse(design: Design, predicted: Float64s, split: str = "test") -> Float64s:
    """The root mean squared error of every device; NaN where it has no rows of that split."""
    part = getattr(design.federation, split)
    squares = np.bincount(part.owners, (predicted - part.y) ** 2, minlength=len(design))
    with np.errstate(invalid="ignore"):
        return np.sqrt(squares / part.sizes)


def mean_rmse(design: Design, predicted: Float64s, split: str = "test") -> float:
    """The mean of the devices' errors."""
    errors = device_rmse(design, predicted, split)
    if np.isnan(errors).all():
        raise ConfigError(f"there are no {split} rows to judge by; use Federation.with_split first.")
    return float(np.nanmean(errors))
