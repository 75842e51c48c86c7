"""How small could each client's loss be, alone?  (By letting each fit the model to its own rows.)"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..algorithms import Local, LocalWork, Optimizer
from ..data import Federation
from ..models import Task
from ..training import train


def local_minima(
    federation: Federation, task: Task, seed: int = 0, steps: int = 500, learning_rate: float = 0.05
) -> NDArray[np.float64]:
    """Each client's mean training loss after full-batch descent on its own rows (Adam)."""
    local = Local(work=LocalWork(steps=steps, batch_size=0), optimizer=Optimizer("adam", learning_rate))
    run = train(federation, task, local, rounds=1, seed=seed, evaluate_every=0, evaluate_clients=1)
    return run.evaluate("train")["loss"]
