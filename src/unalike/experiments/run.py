"""Running an experiment: its settings become a plan, and the plan is run."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

from ..data import Federation
from ..data.importance import SIMILARITY
from ..models import Task
from ..runs import RunFolder
from ..training.make_plan import plan_training
from ..training.newcomers import set_apart
from ..training.observers import Observer, Watching
from ..training.plan import TrainingPlan
from ..training.run import Run
from ..training.train import dry_run, run_plan
from .build import (
    check,
    client_importance,
    make_aggregator,
    make_attack,
    make_federation,
    make_stream,
    make_task,
)
from .build_participation import make_participation
from .build_unlearning import unlearning_of
from .config import Experiment


def run_experiment(
    experiment: Experiment,
    out: str | Path | RunFolder | None = None,
    *,
    federation: Federation | None = None,
    task: Task | None = None,
    overwrite: bool = False,
    resume: bool = False,
    observer: Observer | None = None,
) -> Run:
    """Train what is described.

    Args:
        experiment: what is to be trained.
        out: the run folder, to make or to resume; nothing is written when None.
        federation: its clients, if they are made already.
        task: its task, if it is made already.
        overwrite: whether a new folder replaces a run that is there.
        resume: whether to resume from the newest checkpoint in `out`.
        observer: called after every round.
    """
    plan = plan_experiment(experiment, federation, task, observer)
    resumed = resume and isinstance(out, RunFolder)
    return run_plan(plan, out, resumed, experiment.model_dump(), overwrite)


def plan_experiment(
    experiment: Experiment,
    federation: Federation | None = None,
    task: Task | None = None,
    observer: Watching = None,
) -> TrainingPlan:
    """The plan that an experiment describes; settings that do not go together are refused before data are
    read."""
    method = check(experiment)
    clients = federation or make_federation(experiment)
    similar = experiment.unseen > 0 and client_importance(experiment) == SIMILARITY
    return plan_training(
        clients,
        task or make_task(experiment, clients),
        method.algorithm,
        rounds=experiment.rounds_to_train,
        until=math.inf if experiment.until is None else experiment.until,
        seed=experiment.seed,
        per_round=experiment.per_round,
        participation=partial(make_participation, experiment),
        timing=method.timing,
        engine=experiment.engine,
        devices=experiment.devices,
        stream=make_stream(experiment),
        aggregator=partial(make_aggregator, experiment),
        behavior=experiment.behavior,
        dishonest=experiment.dishonest or "1",
        epsilon=experiment.epsilon,
        delta=experiment.delta,
        unseen=experiment.unseen,
        importance=SIMILARITY if similar else None,
        restarts=experiment.restarts,
        unlearning=unlearning_of(experiment),
        stop_at=experiment.stop_at,
        patience=experiment.patience,
        evaluate_every=experiment.evaluate_every,
        evaluate_clients=experiment.evaluate_clients,
        evaluate_training=experiment.evaluate_training,
        regret=experiment.regret,
        checkpoint_every=experiment.checkpoint_every,
        observer=observer,
        track=experiment.track,
    )


def training_clients(experiment: Experiment, federation: Federation) -> Federation:
    """The clients as training sees them: without those that join later, some with dishonest rows."""
    here = set_apart(federation, experiment.unseen, experiment.seed)[0] if experiment.unseen else federation
    attack = make_attack(experiment, here)
    return here if attack is None else attack.federation(here)


def check_run(experiment: Experiment, federation: Federation, task: Task) -> None:
    """Raise whatever :func:`run_experiment` would raise before it trains, and train nothing."""
    dry_run(plan_experiment(experiment, federation, task))
