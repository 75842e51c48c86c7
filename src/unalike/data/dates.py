"""ISO dates as days since 1970."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import numpy as np

from ..typing import Array, Float64s

_DAY = 86_400.0


def days_of(word: str) -> float | None:
    """Days since 1970 of a date such as 2024-05-31 or 2024-05-31T12:00; None for any other word.

    >>> days_of("1970-01-02"), days_of("1970-01-01T12:00"), days_of("monday")
    (1.0, 0.5, None)
    """
    if len(word) < 10 or not word[:4].isdecimal() or word[4] != "-":
        return None
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() / _DAY


def date_of(days: float) -> str:
    """The date of so many days since 1970.

    >>> date_of(1.5)
    '1970-01-02'
    """
    return str(np.datetime64(int(days // 1), "D"))


def all_days(words: Iterable[str]) -> Float64s | None:
    """The days of a column of dates, a gap being NaN; None where some word is not a date.

    >>> all_days(["1970-01-03", ""]), all_days(["1970-01-03", "soon"])
    (array([ 2., nan]), None)
    """
    known: dict[str, float | None] = {"": float("nan")}
    found = []
    for word in words:
        if word not in known:
            known[word] = days_of(word)
        days = known[word]
        if days is None:
            return None
        found.append(days)
    return np.array(found, np.float64)


def days_of_moments(moments: Array) -> Float64s:
    """Days since 1970 of NumPy's moments; one that is not known is NaN.

    >>> days_of_moments(np.array(["1970-01-02", "NaT"], "datetime64[s]"))
    array([ 1., nan])
    """
    days = moments.astype("datetime64[us]").astype(np.int64) / (_DAY * 1e6)
    return np.where(np.isnat(moments), np.nan, days)
