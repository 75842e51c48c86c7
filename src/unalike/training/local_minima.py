"""Local minima: each client's smallest loss, fitted to its own rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..algorithms import Local, LocalWork, Optimizer
from ..data import Federation
from ..models import Task
from ..participation import Full
from ..timing import Synchronous
from ..typing import Float64s, Int64s
from .execute import execute
from .plan import TrainingPlan

PLANNED = 20_000_000
"""Rows in all mini-batches that are planned at a time: about a gigabyte."""


def local_minima(
    federation: Federation, task: Task, seed: int = 0, steps: int = 500, learning_rate: float = 0.05
) -> Float64s:
    """Each client's mean training loss after full-batch descent on its own rows (Adam).

    A step of a client takes as long as one of the largest it is planned with, so that clients of like sizes
    are, and no more of them at a time than takes little memory.
    """
    known = federation.with_importance("equal")  # a block of clients that count nothing is fitted, too
    found = np.empty(len(federation))
    for block in like_sizes(federation.train.sizes, PLANNED // steps):
        found[block] = _fit_clients(known.subset(block), task, seed, steps, learning_rate)
    return found


def like_sizes(sizes: Int64s, rows: int) -> Iterator[Int64s]:
    """Clients in blocks whose sizes differ by a factor of four at most, and that have some `rows` at most.

    >>> [block.tolist() for block in like_sizes(np.array([1, 100, 3, 90, 2]), rows=200)]
    [[0, 2, 4], [1, 3]]
    """
    classes = np.floor(np.log2(np.maximum(sizes, 1)) / 2).astype(np.int64)
    for found in np.unique(classes):
        mine = np.flatnonzero(classes == found)
        width = max(rows // max(int(sizes[mine].max()), 1), 1)
        yield from np.array_split(mine, -(-len(mine) // width))


def _fit_clients(federation: Federation, task: Task, seed: int, steps: int, learning_rate: float) -> Float64s:
    local = Local(work=LocalWork(steps=steps, batch_size=0), optimizer=Optimizer("adam", learning_rate))
    plan = TrainingPlan(
        federation=federation,
        task=task,
        algorithm=local,
        participation=Full(),
        timing=Synchronous(),
        rounds=1,
        seed=seed,
        evaluate_every=0,
        evaluate_clients=1,
    )
    return execute(plan).evaluate("train")["loss"]
