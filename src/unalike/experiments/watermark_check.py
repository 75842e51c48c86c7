"""Watermark verification of unlearning: is the trigger of a forgotten client still known?

    watermarked accuracy    on the client's training rows with its trigger, by the labels that it taught:
                            before and after unlearning, and of a model trained again from scratch
    p-value                 the chance of at least so many rows that only the unlearned model gets right, of
                            those that one of both gets right, if it knew no more than the other: the exact
                            one-sided test of McNemar, "Note on the sampling error of the difference between
                            correlated proportions or percentages" (1947)

The yardstick is the model that never saw the client, not zero: with `pixels`, labels are true, so that others
may teach them; with `backdoor`, only clients with that trigger do. A large p-value proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy

from ..data import Federation, Split
from ..data.watermarks import choose_watermarked_clients, select_watermarked_rows, watermark_registry
from ..models import Task
from ..training.run import Run
from ..training.train import run_plan
from ..trust.unlearning.requests import Request
from ..typing import Array, Params
from .config import Experiment
from .forget_plan import ForgettingRun
from .retraining import plan_retraining, without_history


def select_rows_with_trigger(
    experiment: Experiment, rows: Federation, clients: Sequence[int]
) -> Split | None:
    """The training rows of some clients that have a trigger; None where there are none.

    Args:
        experiment: whose settings say who has one.
        rows: all clients.
        clients: whose rows are looked for.
    """
    if experiment.watermark is None:
        return None
    marked = np.intersect1d(choose_watermarked_clients(rows, experiment.watermarked), clients)
    if not len(marked):
        return None
    made = watermark_registry.make(experiment.watermark)
    found = select_watermarked_rows(rows, made, marked.tolist(), experiment.seed)
    return found if len(found.y) else None


def is_right(task: Task, params: Params, rows: Split) -> Array:
    """Which rows a model gives the label that they have.

    Args:
        task: whose model it is.
        params: the model.
        rows: the rows with their labels.
    """
    outputs = np.asarray(task.model.apply(params, jnp.asarray(rows.x)))
    return np.asarray(outputs.argmax(-1) == rows.y)


def compare_hits(unlearned: Array, scratch: Array) -> float:
    """The one-sided p-value of McNemar's exact test that the unlearned model knows no more than the other.

    >>> compare_hits(np.array([True, True, True, False]), np.array([False, False, False, False]))
    0.125
    """
    more, less = int((unlearned & ~scratch).sum()), int((~unlearned & scratch).sum())
    return float(scipy.stats.binom.sf(more - 1, more + less, 0.5))


def train_from_scratch(run: ForgettingRun, request: Request, rows: Federation, task: Task) -> Run:
    """A new model, trained as long as the unlearned one may be, on the remaining clients; nothing is written.

    Args:
        run: the run that has forgotten clients.
        request: the request whose length is that of the training.
        rows: all clients, coded as without those that were forgotten.
        task: the task on these rows.
    """
    gone = run.log.forgotten
    plan = plan_retraining(
        *(run.experiment, rows.without_rows(gone), task, gone),
        rounds=request.rounds,
        stop_at=request.stop_at,
    )
    return run_plan(without_history(plan))


def verify_watermark(rows: Split, before: float, models: tuple[Params, Params], task: Task) -> dict[str, Any]:
    """Watermarked accuracy before, after and from scratch.

    Args:
        rows: the rows with triggers.
        before: the accuracy on them before unlearning.
        models: the unlearned model and the one from scratch.
        task: the task of both models.
    """
    unlearned, scratch = (is_right(task, params, rows) for params in models)
    return {
        "rows": len(rows.y),
        "before": before,
        "after": float(unlearned.mean()),
        "scratch": float(scratch.mean()),
        "p_value": compare_hits(unlearned.reshape(-1), scratch.reshape(-1)),
    }
