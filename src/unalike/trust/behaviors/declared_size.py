"""Declared sizes: how many rows does a client claim to have?

In FedAvg a client weighs its number of rows, which nobody can check. Free-riders have none and may say what
they like: the mean of the honest clients (the least conspicuous), the fewest, the most, or ten times the
mean.
"""

from __future__ import annotations

import numpy as np

from ...data import Federation
from ...errors import unknown
from ...typing import ClientIds, Float64s, Int64s

DECLARED = ("mean", "min", "max", "10x")


def check_declared(declared: str) -> None:
    """Raise where this is no way to declare a size."""
    if declared not in DECLARED:
        raise unknown("declared size", str(declared), DECLARED)


def declared_size(sizes: Int64s, declared: str = "mean") -> float:
    """What a free-rider declares, where honest clients have these sizes.

    >>> [declared_size(np.array([10, 30]), word) for word in DECLARED]
    [20.0, 10.0, 30.0, 200.0]
    """
    check_declared(declared)
    mean = float(sizes.mean())
    return {"mean": mean, "min": float(sizes.min()), "max": float(sizes.max()), "10x": 10 * mean}[declared]


def declare(federation: Federation, who: ClientIds, declared: str = "mean") -> Federation:
    """The federation in which these clients count by the rows that they claim to have.

    Rows, and what honest clients declare, stay as they are. Where clients do not count by their rows
    (`given_importance`), or nobody is honest, a claim changes nothing.
    """
    check_declared(declared)
    honest = np.setdiff1d(np.arange(len(federation)), who)
    if federation.given_importance is not None or not len(honest) or not len(who):
        return federation
    sizes: Float64s = federation.train.sizes.astype(np.float64)
    sizes[who] = declared_size(federation.train.sizes[honest], declared)
    return federation.with_importance(sizes / sizes.sum())
