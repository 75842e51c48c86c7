"""Exposed rows: uploads of a single row; text columns that were dropped.

A gradient step on one row is a multiple of that row in every linear layer, and its label follows from the
bias: whoever sees the upload has the row. Text columns whose values single out rows are left out of the
features; a run says which.
"""

from __future__ import annotations

import warnings

import numpy as np

from ..algorithms import Algorithm
from ..algorithms.base import LocalWork
from ..data import Federation
from ..engine.shards import local_steps
from ..typing import Event, Int64s


def row_events(algorithm: Algorithm, federation: Federation) -> list[Event]:
    """Warn of uploads that hold a row exactly, and return it, and the dropped columns, as events."""
    events = [{"kind": "column dropped", "column": c, "reason": why} for c, why in federation.dropped_columns]
    clients = single_row_uploads(algorithm.work, federation.train.sizes)
    if not len(clients):
        return events
    warnings.warn(
        f"{len(clients):,} of {len(federation):,} clients upload one step on a single row, from which "
        "whoever sees it (the server, unless it sees only secure sums) computes the row exactly; "
        "take larger batches or more steps, or protect uploads by secure aggregation or local differential "
        "privacy.",
        stacklevel=3,
    )
    return [*events, {"kind": "uploads of single rows", "clients": len(clients)}]


def single_row_uploads(work: LocalWork, sizes: Int64s) -> Int64s:
    """The clients whose local work is one step on one row.

    >>> single_row_uploads(LocalWork(steps=1, batch_size=1), np.array([5, 9])).tolist()
    [0, 1]
    >>> single_row_uploads(LocalWork(epochs=1, batch_size=16), np.array([5, 1])).tolist()
    [1]
    """
    if work.steps == 0 or work.epochs == 0:
        return np.zeros(0, np.int64)
    batches = np.minimum(work.batch_size or sizes, sizes)
    return np.flatnonzero((batches == 1) & (local_steps(work, sizes) == 1))
