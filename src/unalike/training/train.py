"""`unalike.train`: one plan, made and run."""

from __future__ import annotations

import math
from dataclasses import replace

from ..aggregation.base import Aggregator
from ..algorithms import Algorithm
from ..core.precision import precision
from ..core.run_files import CHECKPOINTS
from ..data import Federation
from ..data.streams import Stream
from ..engine import Engine
from ..errors import ConfigError
from ..models import Task
from ..participation import Participation
from ..runs.checkpoints import Checkpoints
from ..timing import Timing
from ..trust.behaviors import Behavior
from ..typing import Config, State
from .early_stopping import StopRule
from .execute import FROM_PYTHON, Out, execute, path_of
from .fit_plan import check_restarts, fit_plan, fit_stream
from .make_plan import plan_training
from .newcomers import newcomer_summary
from .observers import Watching
from .plan import TrainingPlan
from .prepare import prepare_plan
from .round_keeper import RoundKeeper
from .run import Run
from .unlearning_history import keeping_history


def train(
    federation: Federation,
    task: Task | str,
    algorithm: Algorithm | str,
    *,
    rounds: int | None,
    seed: int = 0,
    per_round: int | None = None,
    participation: Participation | str | None = None,
    timing: Timing | str | None = None,
    engine: str | Engine = "local",
    devices: int | None = None,
    stream: Stream | str | None = None,
    aggregator: Aggregator | str | None = None,
    behavior: str | Behavior | None = None,
    dishonest: str | int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    unseen: float = 0.0,
    restarts: int = 1,
    evaluate_every: int | None = None,
    evaluate_clients: int = 10_000,
    evaluate_training: bool = False,
    regret: str | None = None,
    checkpoint_every: int | None = None,
    until: float = math.inf,
    initial: State | None = None,
    keep_history: bool = False,
    stop_at: str | StopRule | None = None,
    patience: int | None = None,
    keeper: RoundKeeper | None = None,
    out: Out = None,
    resume: bool = False,
    observer: Watching = None,
    track: str | None = None,
) -> Run:
    """Train an algorithm on a federation and return the run.

    Task, algorithm, participation, timing, stream, aggregator and behavior may be named as on the command
    line, such as `"mlp"`, `"fedavg"`, `"md"`, `"async"`, `"constant:5"`, `"median"` and `"sign-flip"`.

    Args:
        federation: the clients and their rows, such as `unalike.load("digits", clients=20)`.
        task: the model with its loss and metrics, or the name of a model.
        algorithm: what clients compute and how the server combines it.
        rounds: how many rounds to train; None for as many as fit before `until`.
        seed: same seed, same result.
        per_round: clients drawn uniformly each round; all when not given.
        participation: who takes part, by a sampler or an availability model, instead of the uniform draw.
        timing: when results arrive; synchronous rounds when not given.
        engine: where it runs: `local`, `debug`, `ray`, or an object.
        devices: cores to use; all when not given.
        stream: which rows clients hold in a round; all of them when not given.
        aggregator: the aggregation rule; the weighted sum of uploads when not given. An `engine` that is an
            object has one of its own.
        behavior: what dishonest clients do, to test robustness; all clients are honest when not given.
        dishonest: which clients are dishonest: a number (the last clients), a fraction such as `"0.2"`, or
            names; the last client when not given.
        epsilon: the privacy budget of a client, or of a row with DP-SGD: chooses noise that is not given, and
            training ends before it is exceeded.
        delta: at which epsilon is counted; 1e-5 when not given.
        unseen: fraction of clients held out, which join after training and are evaluated then.
        restarts: random starts, each for half of the rounds; the best is trained in full.
        evaluate_every: rounds between evaluations; about twenty in all when not given, every round with
            `stop_at`.
        evaluate_clients: evaluate on at most that many clients, evenly spaced.
        evaluate_training: record every client's loss on its training rows at evaluations, too.
        regret: of a stream, record the regret of predictions against the run's `"last"` model or one that is
            `"pooled"` over all rows that arrive; none when not given.
        checkpoint_every: rounds between checkpoints; about ten in all when not given.
        until: when the simulated clock stops.
        initial: a server state to start from, such as `other_run.history.state(5)`.
        keep_history: whether every version of the model is kept, for `run.history`.
        stop_at: end training when a metric is reached, such as `"test_accuracy:0.9"`.
        patience: end training when the metric that judges clients has not improved for that many rounds.
        keeper: is shown every round with its state.
        out: the run folder, which survives a crash; nothing is written when not given.
        resume: whether to resume from the newest checkpoint in `out`.
        observer: one or several functions `observer(report, rounds)`, called after every round with what
            happened (`report.round`, `report.metrics`) and how many rounds are expected; see
            :mod:`unalike.training.observers`.
        track: where rounds are logged, too, such as `"jsonl"` or `"tensorboard,mlflow"`.

    Returns:
        The run: model, metrics, events, and predictions.

    >>> import unalike
    >>> federation = unalike.load("digits", clients=20, partition="dirichlet:0.3", seed=1)
    >>> model = unalike.models.mlp(32, input_shape=(8, 8, 1), outputs=10)
    >>> task = unalike.Task.classification(model, classes=10)
    >>> run = unalike.train(federation, task, unalike.FedAvg(), rounds=3, per_round=5, seed=1)
    >>> bool(run.metrics()["test_accuracy"][-1] > 0.1)
    True
    """
    if resume and out is None:
        raise ConfigError("resume=True needs the run folder to resume, as out.")
    plan = plan_training(
        federation,
        task,
        algorithm,
        rounds=rounds,
        seed=seed,
        per_round=per_round,
        participation=participation,
        timing=timing,
        engine=engine,
        devices=devices,
        stream=stream,
        aggregator=aggregator,
        behavior=behavior,
        dishonest=dishonest,
        epsilon=epsilon,
        delta=delta,
        unseen=unseen,
        restarts=restarts,
        evaluate_every=evaluate_every,
        evaluate_clients=evaluate_clients,
        evaluate_training=evaluate_training,
        regret=regret,
        checkpoint_every=checkpoint_every,
        until=until,
        initial=initial,
        keep_history=keep_history,
        stop_at=stop_at,
        patience=patience,
        keeper=keeper,
        observer=observer,
        track=track,
    )
    return run_plan(plan, out, resume)


def run_plan(
    plan: TrainingPlan,
    out: Out = None,
    resume: bool = False,
    config: Config = FROM_PYTHON,
    overwrite: bool = False,
) -> Run:
    """Fit a plan's parts to its clients, train it, and evaluate clients that join afterwards.

    Args:
        plan: what is to be trained.
        out: the run folder, to make or to resume; nothing is written when None.
        resume: whether to resume from the newest checkpoint in `out`.
        config: the settings that a new folder remembers.
        overwrite: whether a new folder replaces a run that is there.
    """
    kept = keeping_history(plan, path_of(out))
    fitted = fit_plan(kept, trained=resume and _has_checkpoint(out))
    run = execute(fitted, out, resume, config, overwrite)
    if plan.newcomers is not None:
        run.record.write_round(run.rounds, newcomer_summary(run, plan.newcomers))
    return run


def dry_run(plan: TrainingPlan) -> None:
    """Raise whatever :func:`run_plan` would raise before it trains, and train nothing."""
    check_restarts(plan)
    fit_stream(plan)
    with precision(plan.algorithm.needs.float64), prepare_plan(replace(plan, keeper=None)) as ready:
        if isinstance(plan.engine, str):
            ready.engine.close()


def _has_checkpoint(out: Out) -> bool:
    """Whether a folder can be resumed after some rounds."""
    path = path_of(out)
    return path is not None and bool(Checkpoints(path / CHECKPOINTS).rounds())
