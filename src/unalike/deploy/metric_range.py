"""Ranges of metrics: which values reported by a node are possible?

An accuracy lies between 0 and 1, and so does every entry of a table of shares. A loss has no such range, and
must only be a number that can be averaged.
"""

from __future__ import annotations

import numpy as np

from ..models import Task
from ..typing import Array

LARGEST = 1e12
"""The largest magnitude of a loss, or of a metric without a range."""
_ROUNDING = 1e-6


def is_possible(task: Task, statistic: str, value: Array | float) -> bool:
    """Whether a node's mean of a statistic lies within the statistic's range.

    Args:
        task: The task, whose metrics say which statistics are shares.
        statistic: The name of the statistic, or `loss`.
        value: What the node reports, a number or an array.
    """
    of_shares = {m.statistic for m in task.metrics.values() if m.table or m.share}
    low, high = (-_ROUNDING, 1 + _ROUNDING) if statistic in of_shares else (-LARGEST, LARGEST)
    entries = np.asarray(value, np.float64)
    return bool(np.isfinite(entries).all() and (entries >= low).all() and (entries <= high).all())
