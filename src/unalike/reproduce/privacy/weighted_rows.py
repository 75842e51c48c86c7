"""What does a model learn from two sets of which one counts more?  (Weighted empirical risk minimisation.)

    min  w mean_{training rows} loss  +  (1 - w) mean_{reference rows} loss,      0 <= w <= 1

The weight w says whose privacy matters more: one protects the reference rows, zero the training rows. Every
weight is a client that trains alone on all rows of both sets, so that the engine trains them as one cohort.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...algorithms import Local, LocalWork, Optimizer
from ...core import pytrees
from ...data import Federation
from ...data.streams import Stream
from ...data.streams.base import Selection
from ...engine.row_outputs import model_outputs
from ...experiments.audit_rows import REFERENCE, TRAINING, AuditRows, signals_of
from ...models import Task
from ...privacy.audit.signals import Signals
from ...training.train import train
from ...typing import ClientIds, Float32s, Int64s


class WeightedRows(Stream):
    """Every client holds all of its rows all the time, each with a weight that does not change."""

    def __init__(self, offsets: Int64s, weights: Float32s) -> None:
        self._offsets, self._weights = offsets, weights

    def select(self, round: int, clients: ClientIds) -> Selection:
        """All rows of these clients."""
        spans = [np.arange(self._offsets[c], self._offsets[c + 1]) for c in clients]
        rows = np.concatenate(spans)
        offsets = np.concatenate([[0], np.cumsum([len(span) for span in spans])])
        return Selection(rows, offsets, self._weights[rows])


def row_weights(kinds: Int64s, w: float) -> Float32s:
    """What each row of both sets weighs, with a mean of one: w / |T| of all for a training row.

    >>> row_weights(np.array([TRAINING, REFERENCE, REFERENCE]), 0.5).tolist()
    [1.5, 0.75, 0.75]
    """
    training = kinds == TRAINING
    share = np.where(training, w / max(training.sum(), 1), (1 - w) / max((~training).sum(), 1))
    return (len(kinds) * share).astype(np.float32)


def train_weighted(
    task: Task, rows: AuditRows, weights: Sequence[float], passes: int, optimizer: Optimizer, seed: int
) -> list[Signals]:
    """What models of these weights say of every row, training, reference and other."""
    learned = rows.of(TRAINING, REFERENCE)
    clients = np.repeat(np.arange(len(weights)), len(learned))
    federation = Federation.from_owners(
        rows.x, rows.y, clients, rows=np.tile(learned, len(weights)), classes=int(rows.y.max()) + 1, seed=seed
    )
    each = np.concatenate([row_weights(rows.kinds[learned], w) for w in weights])
    alone = Local(work=LocalWork(epochs=1, batch_size=32), optimizer=optimizer)
    stream = WeightedRows(federation.train.offsets, each)
    run = train(federation, task, alone, rounds=passes, seed=seed, stream=stream, evaluate_every=0)
    params = run.memories.gather(np.arange(len(weights)))[0]["params"]
    return [
        signals_of(task, model_outputs(task, pytrees.row(params, k), rows.x), rows.y)
        for k in range(len(weights))
    ]
