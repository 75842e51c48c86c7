"""Medians over clients of self-reported metrics, which one client cannot move.

A client of a deployment evaluates on its own rows and may report anything. The record keeps means over all
rows; what is decided by metrics (stopping, the best model, divergence) follows the median over clients, each
counted once, where the engine does not trust its clients. With three clients or more, one of them cannot move
a median beyond what the others report.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

MEDIAN = "median_"
"""What columns of medians begin with, as in `median_test_accuracy`."""
Value = TypeVar("Value")


def median_columns(of_each: Mapping[str, ArrayLike]) -> dict[str, float]:
    """The median over clients of every metric; clients that report none are left out.

    >>> median_columns({"test_loss": np.array([1.0, np.nan, 2.0, 1e9]), "test_samples": np.ones(4)})
    {'median_test_loss': 2.0}
    """
    medians = dict[str, float]()
    for name, values in of_each.items():
        known = np.asarray(values, np.float64)[np.isfinite(values)]
        if not name.endswith("_samples") and len(known):
            medians[MEDIAN + name] = float(np.median(known))
    return medians


def decisive_columns(columns: Mapping[str, Value]) -> dict[str, Value]:
    """Columns in which medians, where there are some, stand in the place of means.

    >>> decisive_columns({"test_loss": 1e9, "median_test_loss": 2.0})["test_loss"]
    2.0
    """
    medians = {name.removeprefix(MEDIAN): value for name, value in columns.items() if name.startswith(MEDIAN)}
    return {**columns, **medians}
