"""Retraining of a run without some clients: the run's own plan, with another start and another length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..data import Federation
from ..models import Task
from ..participation import Full, Remaining, Renormalized
from ..training.observers import Observer
from ..training.plan import TrainingPlan
from ..typing import State
from .config import Experiment
from .run import plan_experiment


def plan_retraining(
    experiment: Experiment,
    rows: Federation,
    task: Task,
    gone: Sequence[int],
    *,
    rounds: int | None,
    stop_at: str | None,
    initial: State | None = None,
    observer: Observer | None = None,
) -> TrainingPlan:
    """The plan of a training without some clients, who keep their numbers.

    Args:
        experiment: what the run was asked to do.
        rows: its clients, of whom those that are gone have no rows.
        task: its task.
        gone: the clients that never take part.
        rounds: how many rounds at most.
        stop_at: the metric at which training ends early; None for none.
        initial: the server's state to start from; a new one when None.
        observer: called after every round.
    """
    return replace(
        plan_experiment(experiment, rows, task, observer),
        participation=remaining_clients(experiment, gone),
        initial=initial,
        rounds=rounds,
        stop_at=stop_at,
        patience=None,
    )


def remaining_clients(experiment: Experiment, gone: Sequence[int]) -> Remaining:
    """Everyone, or as many as before, but nobody who is gone."""
    each = experiment.per_round
    return Remaining(Full() if each is None else Renormalized(per_round=each), list(gone))


def without_history(plan: TrainingPlan) -> TrainingPlan:
    """The same plan, of which no models are kept for later requests, so that it can be trained in memory."""
    return replace(plan, unlearning=None)
