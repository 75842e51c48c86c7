"""Merging metric statistics: from rows to clients to all clients.

A statistic is a number or an array for each row. Means are all that is merged, with the numbers of rows
beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...typing import Array, Float64s, Int64s


def mean_by_client(rows: Array, sizes: Int64s) -> Float64s:
    """The mean over each client's rows, which lie one client after the other; NaN where there are none.

    >>> mean_by_client(np.array([1.0, 2.0, 6.0]), np.array([2, 0, 1]))
    array([1.5, nan, 6. ])
    """
    owners = np.repeat(np.arange(len(sizes)), sizes)
    # Each client's sum by itself, so that one client's infinite loss stays its own.
    if rows.ndim == 1:
        return divide_sums(np.bincount(owners, weights=rows, minlength=len(sizes)), sizes)
    totals = np.zeros((len(sizes), *rows.shape[1:]))
    np.add.at(totals, owners, rows)
    return divide_sums(totals, sizes)


def divide_sums(totals: Array, sizes: Int64s) -> Float64s:
    """Sums over clients' rows by their numbers; NaN where there are none."""
    counts = sizes.reshape(-1, *(1,) * (totals.ndim - 1))
    return np.divide(totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0)


def mean_of_all(means: Array, samples: Float64s) -> Array:
    """The mean over all clients' rows, of those who have some.

    >>> mean_of_all(np.array([1.5, np.nan, 6.0]), np.array([2.0, 0.0, 1.0]))
    np.float64(3.0)
    """
    counted = samples > 0
    with np.errstate(over="ignore", invalid="ignore"):  # what diverges is said by an event, not by NumPy
        return np.asarray(np.average(means[counted], weights=samples[counted], axis=0))[()]


def stack_statistics(values: Sequence[Array | float]) -> Array:
    """One entry per client; a client without rows has a single NaN, whatever others have.

    >>> stack_statistics([np.nan, np.ones(2)])
    array([[nan, nan],
           [ 1.,  1.]])
    """
    shape = max((np.shape(value) for value in values), key=len)
    return np.stack([np.broadcast_to(value, shape) for value in values])
