"""Random restarts: which initial model leads to the best optimum?

Mixtures and clusters have bad local optima: two components may merge and never part. So several starts are
trained for half of the rounds, and the one with the lowest training loss is trained again, from its
beginning, in full. The first start is the one that would have been used anyway.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..algorithms import Algorithm
from ..engine import root_key
from ..models import Task
from ..typing import PyTree
from .run import Run


def starts(algorithm: Algorithm, task: Task, seed: int, count: int) -> list[PyTree]:
    """Server states to start from."""
    purposes = ["init", *(f"init {number}" for number in range(1, count))]
    return [algorithm.init(task, root_key(seed, purpose)) for purpose in purposes]


def training_loss(run: Run) -> float:
    """The mean loss of all training rows, each with its own client's predictor; infinite where it failed."""
    answer = run.evaluate("train")
    counted = answer["samples"] > 0
    loss = float(np.average(answer["loss"][counted], weights=answer["samples"][counted]))
    return loss if np.isfinite(loss) else np.inf


def best_start(attempt: Callable[[PyTree], Run], candidates: list[PyTree]) -> tuple[PyTree, list[float]]:
    """The start whose attempt ends with the lowest training loss, and all these losses."""
    losses = [training_loss(attempt(start)) for start in candidates]
    return candidates[int(np.argmin(losses))], losses
