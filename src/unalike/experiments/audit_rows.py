"""Audit rows: which rows are attacked, and what a model predicts for each.

All rows that an audit looks at are one table: training rows (members), test rows (non-members) and reference
rows. Equal rows are kept once. Each is judged by the predictor of the client that owns it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..core.precision import precision
from ..core.random import generator
from ..data import Federation, Split
from ..data.federation import assemble
from ..engine.row_outputs import row_outputs
from ..errors import DataError
from ..models import Task
from ..privacy.audit.attack_sets import distinct_sets
from ..privacy.audit.signals import Signals, class_signals, value_signals
from ..training.run import Run
from ..typing import Array, Bools, Int64s

TRAINING, OTHERS, REFERENCE = range(3)
_TRAIN_PART, _TEST_PART = 0, 2


@dataclass(frozen=True)
class AuditRows:
    """The rows of an audit."""

    x: Array
    y: Array
    owners: Int64s
    kinds: Array
    """Of every row: TRAINING, OTHERS or REFERENCE."""
    removed: tuple[str, ...] = ()
    """What was removed because it was there twice, a sentence each."""

    def __len__(self) -> int:
        return len(self.y)

    def of(self, *kinds: int) -> Int64s:
        """The places of rows of some kinds."""
        return np.flatnonzero(np.isin(self.kinds, kinds))

    def classes(self, task: Task) -> Int64s | None:
        """The class of every row; None where targets are no classes, or several of a row are."""
        return self.y.astype(np.int64) if task.kind() != "values" and self.y.ndim == 1 else None

    def take(self, rows: Array) -> AuditRows:
        """Some of them."""
        return replace(self, x=self.x[rows], y=self.y[rows], owners=self.owners[rows], kinds=self.kinds[rows])


def collect_rows(
    federation: Federation, reference: Split | None = None, most: int | None = None, seed: int = 0
) -> AuditRows:
    """The distinct rows of a federation; at most `most`, with as many non-members as there may be."""
    if not len(federation.test.y):
        raise DataError(
            "there are no non-members: the run has no test rows; train with --test-fraction above 0."
        )
    if reference is not None and not len(reference.y):
        raise DataError("the reference set is empty; leave it out, or give rows that a defense has used.")
    parts = [federation.train, federation.test, *([] if reference is None else [reference])]
    pairs = [(part.x, part.y) for part in parts]
    found = distinct_sets(*pairs)
    kept = np.concatenate([found.kept[name] for name in ("train", "others", "reference")[: len(parts)]])
    whole = AuditRows(
        np.concatenate([part.x for part in parts]),
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.owners for part in parts]).astype(np.int64),
        np.repeat(np.arange(len(parts)), [len(part.y) for part in parts]),
        tuple(found.said()),
    ).take(np.flatnonzero(kept))
    if most is None or len(whole) <= most:
        return whole
    return whole.take(_sample(whole.kinds, most, seed))


def _sample(kinds: Array, most: int, seed: int) -> Int64s:
    """Half of the places for non-members (or all of these), the rest for the others."""
    order = generator(seed, "audit rows").permutation(len(kinds))
    others, rest = order[kinds[order] == OTHERS], order[kinds[order] != OTHERS]
    few = others[: max(most // 2, most - len(rest))]
    return np.sort(np.concatenate([few, rest[: most - len(few)]]))


def deal_again(federation: Federation, rows: AuditRows, inside: Bools) -> Federation:
    """The same clients with other training rows: those of the table that are `inside`; the rest are tests."""
    parts = np.where(inside, _TRAIN_PART, _TEST_PART).astype(np.int8)
    train, _, test = assemble(rows.x, rows.y, rows.owners, parts, len(federation))
    return replace(federation, train=train, test=test)


def run_outputs(run: Run, rows: AuditRows) -> Array:
    """What a run's predictors say of every row, each by that of the row's client."""
    setting = run.setting
    with precision(setting.algorithm.needs.float64):
        return row_outputs(setting, run.messages, run.memories, rows.x, rows.owners, run.rounds)


def run_signals(run: Run, rows: AuditRows) -> Signals:
    """What attacks see of that."""
    return signals_of(run.setting.task, run_outputs(run, rows), rows.y)


def signals_of(task: Task, outputs: Array, y: Array) -> Signals:
    """The signals of rows from a model's outputs, of whatever kind."""
    kind = task.kind()
    if kind == "logits" and y.ndim == 1:
        return class_signals(outputs, y)
    if kind == "logit" and y.ndim == 1:
        yes = np.asarray(outputs, np.float64).reshape(len(y))
        return class_signals(np.column_stack([np.zeros(len(y)), yes]), y)
    losses: Any = task.sample_loss(jnp.asarray(outputs), jnp.asarray(y))
    return value_signals(np.asarray(losses, np.float64).reshape(len(y), -1).mean(1))
