"""How is a described experiment trained?  (Run: build what the words name, fit what it needs, train.)

check                the algorithm and the timing, before any data are read
make                 clients, model and participation; nothing is trained so far
fit                  each client's least loss, where the participation needs it, and a stream's weights
start                the best of several, where that is asked for
train                into a run folder, which is made when nothing can be refused any more
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from ..aggregation.base import Aggregator
from ..algorithms import Algorithm
from ..algorithms.shared.local_state import keep_state
from ..data import Federation
from ..data.importance import SIMILARITY
from ..errors import ConfigError
from ..models import Task
from ..participation import Participation, check_per_round
from ..runs import RunFolder
from ..training.newcomers import newcomer_summary, set_apart
from ..training.observers import Observer
from ..training.run import Run
from ..training.trackers import make_trackers
from ..training.train import Out, train
from ..typing import PyTree
from .build import (
    Method,
    check,
    client_importance,
    make_aggregator,
    make_federation,
    make_rehearsal,
    make_stream,
    make_task,
)
from .build_participation import make_participation
from .build_privacy import with_chosen_noise, with_row_account
from .build_unlearning import make_history, measured
from .config import Experiment
from .local_minima import fit_participation
from .restarts import best_start, starts
from .stream_constants import fit_stream

Train = Callable[..., Run]
"""Training with everything given but its length, its start and where it is written."""


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
    """Train what is described; with `out`, into a run folder. `federation` and `task` save making them
    again."""
    method = check(experiment)
    federation = federation or make_federation(experiment)
    task = task or make_task(experiment, federation)
    unseen = None
    if experiment.unseen:
        federation, unseen = set_apart(federation, experiment.unseen, experiment.seed)
        if client_importance(experiment) == SIMILARITY:  # that to the clients that are left
            federation = federation.with_importance(SIMILARITY)
    if experiment.per_round is not None:
        check_per_round(experiment.per_round, len(federation))
    method = _with_chosen_noise(experiment, method, federation)
    method, federation = _with_dishonest(experiment, method, federation)
    target: Out = out
    if out is not None and not isinstance(out, RunFolder):
        target = partial(RunFolder.create, out, experiment.model_dump(), overwrite)
    who = fit_participation(make_participation(experiment, federation), federation, task, experiment.seed)
    trainer = _trainer(experiment, method, federation, task, who)
    keeper = make_history(experiment, out, method.algorithm, federation)
    going_on = resume and isinstance(out, RunFolder) and bool(out.checkpoints.rounds())
    run = trainer(
        rounds=experiment.rounds_to_train,
        evaluate_every=experiment.evaluate_every,
        checkpoint_every=experiment.checkpoint_every,
        initial=None if going_on else _start(experiment, method, federation, task, trainer),
        out=target,
        resume=resume,
        observer=[*([observer] if observer else []), *make_trackers(experiment.track)],
        stop_at=experiment.stop_at,
        patience=experiment.patience,
        keeper=keeper,
    )
    if unseen is not None:
        run.record.write_round(run.rounds, newcomer_summary(run, unseen))
    return run


def trained_clients(experiment: Experiment, federation: Federation) -> Federation:
    """The clients as training sees them: without those that join later, some with dishonest rows."""
    here = set_apart(federation, experiment.unseen, experiment.seed)[0] if experiment.unseen else federation
    rehearsal = make_rehearsal(experiment, here)
    return here if rehearsal is None else rehearsal.federation(here)


def rehearse(experiment: Experiment, federation: Federation, task: Task) -> None:
    """Raise whatever :func:`run_experiment` would raise before it trains, and train nothing."""
    method = _with_chosen_noise(experiment, check(experiment), federation)
    method, federation = _with_dishonest(experiment, method, federation)
    who = make_participation(experiment, federation)
    trainer = _trainer(experiment, method, federation, task, who)
    with suppress(_RehearsedError):
        trainer(rounds=experiment.rounds_to_train, out=_stop_there)


class _RehearsedError(Exception):
    """Everything was right up to the making of the run folder."""


def _stop_there() -> RunFolder:
    raise _RehearsedError


def _with_chosen_noise(experiment: Experiment, method: Method, federation: Federation) -> Method:
    return method._replace(algorithm=with_chosen_noise(experiment, method.algorithm, federation))


def _with_dishonest(
    experiment: Experiment, method: Method, federation: Federation
) -> tuple[Method, Federation]:
    """The method and the federation, with the clients that are not honest."""
    rehearsal = make_rehearsal(experiment, federation)
    if rehearsal is None:
        return method, federation
    changed = method._replace(algorithm=rehearsal.algorithm(method.algorithm))
    return changed, rehearsal.federation(federation)


def _trainer(
    experiment: Experiment, method: Method, federation: Federation, task: Task, who: Participation
) -> Train:
    """:func:`train` with everything that is the same for a run, its rehearsal and the trials of its start."""
    for name in ("aggregator", "monitor", "central_dp", "local_dp"):
        if experiment.restarts > 1 and experiment.spec(name) is not None:
            raise ConfigError(f"several starts are compared by their losses; leave out restarts or {name}.")
    rounds, each = experiment.rounds_to_train, method.algorithm.rounds_per_step
    steps = None if rounds is None else -(-rounds // each)
    return partial(
        train,
        federation,
        task,
        method.algorithm,
        aggregator=measured(experiment, _aggregator(experiment, method.algorithm, federation)),
        stream=fit_stream(make_stream(experiment), federation, task, experiment.seed, steps),
        until=math.inf if experiment.until is None else experiment.until,
        seed=experiment.seed,
        participation=who,
        timing=method.timing,
        engine=experiment.engine,
        devices=experiment.devices,
        evaluate_clients=experiment.evaluate_clients,
    )


def _aggregator(experiment: Experiment, algorithm: Algorithm, federation: Federation) -> Aggregator:
    plain, rehearsal = make_aggregator(experiment, len(federation)), make_rehearsal(experiment, federation)
    plain = with_row_account(experiment, plain, algorithm, federation)
    return plain if rehearsal is None else rehearsal.aggregator(plain)


def _start(
    experiment: Experiment, method: Method, federation: Federation, task: Task, trainer: Train
) -> PyTree | None:
    """The best of several starts, or None for the usual one."""
    rounds = experiment.rounds_to_train
    if experiment.restarts == 1 or rounds is None:
        return None
    half, algorithm = -(-rounds // 2), keep_state(method.algorithm, task).prepare(task, federation)
    candidates = starts(algorithm, task, experiment.seed, experiment.restarts)
    return best_start(lambda start: trainer(initial=start, rounds=half, evaluate_every=0), candidates)[0]
