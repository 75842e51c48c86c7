"""Lambda of kNN-Per: how much weight should a client give its datastore?

The share lambda_t of the neighbors is chosen by each client alone, on rows that are not in the store they
are looked up in:

    lambda_t = argmax over {0, .1, .3, .5, .7, .9, 1} of the accuracy (or minus the squared error)

Queries are the client's validation rows (`validation`), a held-out fifth of its rows (`holdout`), every row
against all others (`loo`), or each fifth against the other four (`kfold`). Among shares that are equally good
the middle one is taken; a client with fewer than five rows does not choose but takes 0.3, and one with none
relies on the global model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.random import generator
from ..errors import ConfigError, unknown
from ..models import Task
from ..typing import Array, Float32s, Float64s, Int64s
from .embedding import Embedded
from .knn_voting import interpolate
from .voting_rule import Rule

Rows = Int64s
GRID = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
ENOUGH = 5
"""Rows from which on a client chooses."""
BEFORE_ENOUGH = 0.3
"""What a client with some rows, but fewer, takes."""
FOLDS = 5
WAYS = ("loo", "holdout", "kfold", "validation")


def check_choice(choose: str | float, ways: Sequence[str] = WAYS) -> None:
    """A way of choosing is a name, or the share itself."""
    if isinstance(choose, str):
        if choose not in ways:
            raise unknown("way to choose lambda", choose, ways)
    elif not 0 <= choose <= 1:
        raise ConfigError(f"lambda must be between 0 and 1, but is {choose}.")


def scores(
    task: Task, near: Float32s, common: Float32s, labels: Array, grid: Sequence[float] = GRID
) -> Float64s:
    """How well each share does: rows that are right, or minus the summed squared error."""
    return np.array([_score(task, interpolate(share, near, common), labels) for share in grid], np.float64)


def _score(task: Task, mixed: Float32s, labels: Array) -> float:
    if task.kind() == "logits":
        return float((mixed.argmax(axis=-1) == labels).sum())
    if task.kind() == "logit":
        return float(((mixed.reshape(labels.shape) > 0.5) == (labels > 0)).sum())
    return -float(((mixed.reshape(labels.shape) - labels) ** 2).sum(dtype=np.float64))


def middle_of_best(scores: Any, grid: Sequence[float] = GRID, xp: Any = np) -> Any:
    """The place of the middle one of the best shares; of two middle ones, of the nearer to one half.

    `xp` is the array module: NumPy, or `jax.numpy` inside compiled code.

    >>> [GRID[middle_of_best(np.array(tied))] for tied in ([0, 1, 2, 2, 2, 0, 0], [1, 1, 1, 1, 0, 0, 0])]
    [0.5, 0.3]
    """
    # Whole numbers, because 0.3 and 0.7 are not equally far from 0.5 in binary.
    far = xp.asarray(np.rint(np.abs(np.asarray(grid) - 0.5) * 1e6).astype(np.int32))
    tied = scores == scores.max()
    place, count = xp.cumsum(tied), tied.sum()
    lower, upper = (xp.argmax(place > before) for before in ((count - 1) // 2, count // 2))
    return xp.where(far[upper] < far[lower], upper, lower)


def own_share(
    task: Task,
    rule: Rule,
    rows: Embedded,
    choose: str | float,
    *,
    validation: Embedded | None = None,
    seed: int = 0,
    client: int = 0,
    grid: Sequence[float] = GRID,
) -> float:
    """The share of a client that remembers `rows`, or of one that has too few to choose."""
    if not isinstance(choose, str):
        return float(choose)
    if len(rows.keys) < ENOUGH:
        return BEFORE_ENOUGH if len(rows.keys) else 0.0
    if choose == "loo":
        near, asked = rule.ask_others(task, rows.keys, rows.labels, rows.common), rows
    elif choose == "validation":
        assert validation is not None
        asked = validation
        near = rule.ask(task, rows.keys, rows.labels, asked.keys, asked.common)
    else:
        near, asked = _out_of_fold(task, rule, rows, choose, generator(seed, "fold", client))
    return float(grid[middle_of_best(scores(task, near, asked.common, asked.labels, grid), grid)])


def _out_of_fold(
    task: Task, rule: Rule, rows: Embedded, choose: str, rng: np.random.Generator
) -> tuple[Float32s, Embedded]:
    """What the rows of the other folds say of each fold; with `holdout`, of one fold only."""
    folds = np.array_split(rng.permutation(len(rows.keys)), FOLDS)[: 1 if choose == "holdout" else FOLDS]
    near = []
    for fold in folds:
        stored = rows.take(np.setdiff1d(np.arange(len(rows.keys)), fold))
        asked = rows.take(fold)
        near.append(rule.ask(task, stored.keys, stored.labels, asked.keys, asked.common))
    return np.concatenate(near), rows.take(np.concatenate(folds))
