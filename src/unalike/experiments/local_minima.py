"""How small could each client's loss be, alone?  (Local minima: each fits the model to its own rows.)"""

from __future__ import annotations

import numpy as np

from ..algorithms import Local, LocalWork, Optimizer
from ..data import Federation
from ..models import Task
from ..participation import Intermittent, Participation
from ..training.train import train
from ..typing import Float64s

PLANNED = 20_000_000
"""Rows in all mini-batches that are planned at a time: about a gigabyte."""


def fit_participation(
    participation: Participation, federation: Federation, task: Task, seed: int
) -> Participation:
    """The participation, told each client's least loss if it needs that. This trains every client."""
    if not (isinstance(participation, Intermittent) and participation.needs_local_minima):
        return participation
    return participation.with_local_minima(local_minima(federation, task, seed))


def local_minima(
    federation: Federation, task: Task, seed: int = 0, steps: int = 500, learning_rate: float = 0.05
) -> Float64s:
    """Each client's mean training loss after full-batch descent on its own rows (Adam).

    All clients' mini-batches are planned together where that takes little memory, else those of some clients
    at a time.
    """
    sizes = federation.train.sizes
    width = max(PLANNED // max(steps * int(sizes.max(initial=1)), 1), 1)
    if len(sizes) <= width:
        return _fitted(federation, task, seed, steps, learning_rate)
    blocks = np.array_split(np.arange(len(sizes)), -(-len(sizes) // width))
    known = federation.with_importance("equal")  # a block of clients that count nothing is fitted, too
    return np.concatenate(
        [_fitted(known.subset(block), task, seed, steps, learning_rate) for block in blocks]
    )


def _fitted(federation: Federation, task: Task, seed: int, steps: int, learning_rate: float) -> Float64s:
    local = Local(work=LocalWork(steps=steps, batch_size=0), optimizer=Optimizer("adam", learning_rate))
    run = train(federation, task, local, rounds=1, seed=seed, evaluate_every=0, evaluate_clients=1)
    return run.evaluate("train")["loss"]
