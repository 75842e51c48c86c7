"""Survival times as signed numbers: follow-up time, and whether the event was observed.

    y = +t    the event came after t            y = -t    followed for t without it (censored)

So survival data are rows with one target, which every part of the library can cut, deal and send.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from ..typing import Bools, Float64s


def signed_times(times: ArrayLike, events: ArrayLike) -> Float64s:
    """Times with the sign of what ended them.

    >>> signed_times([5.0, 2.0], [1, 0])
    array([ 5., -2.])
    """
    t, happened = np.asarray(times, np.float64), np.asarray(events)
    if t.shape != happened.shape or t.ndim != 1:
        raise DataError(f"every time needs its event, but shapes are {t.shape} and {happened.shape}.")
    if not np.isin(happened, (0, 1)).all():
        raise DataError("events must be 1 (it happened) or 0 (followed without it).")
    return np.where(happened.astype(bool), t, -t)[_check_times(t)]


def times_and_events(signed: ArrayLike) -> tuple[Float64s, Bools]:
    """The inverse of :func:`signed_times`.

    >>> times_and_events([5.0, -2.0])
    (array([5., 2.]), array([ True, False]))
    """
    y = np.asarray(signed, np.float64)
    _check_times(np.abs(y))
    return np.abs(y), y > 0


def _check_times(times: Float64s) -> slice:
    """All rows, if every time is a positive number."""
    if not (np.isfinite(times).all() and (times > 0).all()):
        raise DataError("survival times must be positive numbers; add half a unit where somebody has 0.")
    return slice(None)
