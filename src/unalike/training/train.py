"""How is a federation trained?  (The front door to the loop.)"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..aggregation.base import Aggregator, WeightedSum
from ..aggregation.observed_updates import WATCHED
from ..algorithms import Algorithm
from ..algorithms.shared.local_state import keep_state
from ..core.precision import precision
from ..data import Federation
from ..data.facts import facts_of
from ..data.streams import Stream, hold_steps
from ..engine import BlockLimits, Engine, Setting, engine_registry, reply_template, root_key
from ..engine.programs import forget_programs
from ..errors import ConfigError
from ..models import Task
from ..models.task_fit import check_task_fit, warn_of_scale
from ..participation import Full, Participation, Renormalized, check_draw, check_per_round
from ..participation.samplers.usual_bias import warn_of_bias
from ..runs import Record, RunFolder
from ..runs.selection import TEST_ROWS
from ..timing import Clients, Synchronous, Timing, plan_schedule
from ..typing import Message, State
from .arguments import (
    as_aggregator,
    as_algorithm,
    as_federation,
    as_participation,
    as_stream,
    as_task,
    as_timing,
    check_numbers,
)
from .best_model import BestModel, judging_metric
from .blocks import Blocks, choose_limits
from .cadence import ENDLESS, Cadence, make_cadence
from .checkpoint import Checkpointer
from .divergence import Divergence, warn_of_divergence
from .evaluation import Evaluation
from .exposed_rows import row_events
from .final_numbers import note_final_numbers
from .fingerprint import check_same, data_fingerprint, keep_fingerprint, settings_fingerprint
from .history import History
from .interrupts import Interrupts
from .keeper import RoundKeeper
from .loop import train_rounds
from .observers import About, Observers, Watching
from .progress import Progress
from .recorder import Describe, Recorder
from .row_account import account_rows
from .run import Run
from .steps import Cohorts, Steps
from .stopping import Patience, Stopping, StopRule
from .stream_clock import follow_clock

Out = str | Path | RunFolder | Callable[[], RunFolder] | None
"""Where a run is written; a function makes the folder when everything else is known to be right."""


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
    evaluate_every: int | None = None,
    evaluate_clients: int = 10_000,
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
) -> Run:
    """Train an algorithm on a federation and return the run.

    Task, algorithm, participation, timing, stream and aggregator may be named as on the command line, such as
    `"mlp"`, `"fedavg"`, `"md"`, `"async"`, `"constant:5"` and `"median"`.

    `per_round` clients are drawn uniformly each round (all, when not given), or `participation` says who
    takes part; `timing` says when results arrive, and `until` stops the simulated clock; `aggregator` says
    what the server makes of single uploads before they are mixed (an `engine` that is an object has one of
    its own); `stream` says which rows clients hold in a round. With `out`, the run is a folder that survives
    a crash, and `resume=True` goes on from its newest checkpoint. `initial` starts from a given server state,
    such as `other_run.history.state(5)`; `keep_history` keeps every version for that. With `stop_at`
    (such as `test_accuracy:0.9`), training ends as soon as that is reached, and it is evaluated after every
    round unless `evaluate_every` says otherwise; with `patience`, when the metric that judges clients has
    not become better for so many rounds. `keeper` is shown every round. `observer(report, rounds)`, one or
    a list of them, is called after every round with what happened in it (`report.round`, `report.metrics`)
    and how many rounds are expected, for progress bars and logs; see :mod:`.observers`.

    >>> import unalike
    >>> federation = unalike.load("digits", clients=20, partition="dirichlet:0.3", seed=1)
    >>> model = unalike.models.mlp(32, input_shape=(8, 8, 1), outputs=10)
    >>> task = unalike.Task.classification(model, classes=10)
    >>> run = unalike.train(federation, task, unalike.FedAvg(), rounds=3, per_round=5, seed=1)
    >>> bool(run.metrics()["test_accuracy"][-1] > 0.1)
    True
    """
    if resume and out is None:
        raise ConfigError("resume=True needs the run folder to go on with, as out.")
    federation = as_federation(federation)
    task, algorithm, timing = as_task(task, federation), as_algorithm(algorithm), as_timing(timing)
    check_numbers(
        **{"rounds": rounds, "seed": seed, "per_round": per_round, "until": until},
        **{"evaluate_every": evaluate_every, "checkpoint_every": checkpoint_every, "patience": patience},
    )
    participation = as_participation(participation, per_round, federation, seed)
    stream, aggregator = as_stream(stream), as_aggregator(aggregator, len(federation))
    forget_programs()
    _check_length(rounds, until)
    with precision(algorithm.double_precision):
        check_task_fit(task, federation)
        if engine == "flower":
            raise ConfigError("real clients train by `unalike serve` and `unalike join`, not here.")
        if per_round is not None:
            check_per_round(per_round, len(federation))
        who = participation or (Renormalized(per_round=per_round) if per_round else Full())
        who.check(len(federation), rounds or 0)
        check_draw(who, federation.importance, seed)
        by_draw = stream is None and (timing is None or timing.by_cohort) and not resume
        events = warn_of_bias(who, federation.importance, federation.name) if by_draw else []
        if not (resume or algorithm.double_precision):
            events += [*warn_of_scale(federation), *row_events(algorithm, federation)]
        settings = {
            **{"task": task, "method": algorithm, "participation": who, "timing": timing or Synchronous()},
            **{"stream": stream, "aggregation": aggregator or WeightedSum()},
        }
        fingerprint = settings_fingerprint(seed, **settings) if out is not None else {}
        if isinstance(engine, str):
            if stream is not None:
                stream, said = follow_clock(stream, timing or Synchronous(), until, engine)
                events = events if resume else [*events, *said]
            stream = hold_steps(stream, algorithm.rounds_per_step)
            if stream is not None:
                stream.begin(federation, seed, rounds)
            algorithm = keep_state(algorithm, task).prepare(task, federation)
            mixer = account_rows(aggregator or WeightedSum(), algorithm, federation, stream is not None)
            watch = watched_by(who)
            setting = Setting(federation, task, algorithm, seed, stream, devices, watch, None, mixer)
            runs_on = engine_registry.make(engine, setting=setting)
        else:
            runs_on = engine
            _check_engine(engine.setting, federation, task, seed, who, aggregator)
            if stream not in (None, engine.setting.stream):
                raise ConfigError("the engine was made for another stream; let train make it, by its name.")
            if engine.setting.stream is not None:
                engine.setting.stream.begin(federation, seed, rounds)
        with _closed_on_error(runs_on if isinstance(engine, str) else None):
            ready = _ready(runs_on, who, timing or Synchronous(), until, initial, keep_history)
            ready = ready._replace(events=list(events))
            stopping = _stopping(stop_at, patience, task, federation)
            if stopping.patience is not None and stopping.patience.metric.startswith("test_") and not resume:
                ready.events.append({"kind": TEST_ROWS, "metric": stopping.patience.metric})
            if stopping.target is not None:
                evaluate_every = 1 if evaluate_every is None else evaluate_every
            cadence = ready.plan(rounds, evaluate_every, checkpoint_every if out else 0)
            # Last, so that a mistake in anything above leaves nothing on the disk.
            folder = _folder(out, resume)
            with folder.locked() if folder else nullcontext():
                if folder:
                    if isinstance(engine, str):  # real clients keep their rows
                        fingerprint |= data_fingerprint(federation)
                    if resume:
                        check_same(folder, fingerprint)
                    keep_fingerprint(folder, fingerprint)
                    folder.save_facts(facts_of(federation))
                watchers = Observers(observer)
                return _train(ready, cadence, folder, resume, evaluate_clients, watchers, keeper, stopping)


def _stopping(
    stop_at: str | StopRule | None, patience: int | None, task: Task, federation: Federation
) -> Stopping:
    """When training ends early, checked."""
    target = stop_at if stop_at is None or isinstance(stop_at, StopRule) else StopRule.of(stop_at)
    if target is not None:
        target.check(task)
    if patience is not None and patience < 1:
        raise ConfigError(f"patience must be at least one round, but is {patience}.")
    waits = None if patience is None else Patience(judging_metric(task, federation), patience)
    return Stopping(target, waits)


def watched_by(who: Participation) -> tuple[str, ...]:
    """What is to be reported of every upload because a participation wants to see it."""
    return tuple(sorted({*who.watches, *who.asks} & set(WATCHED)))


def _check_engine(
    setting: Setting,
    federation: Federation,
    task: Task,
    seed: int,
    who: Participation,
    aggregator: Aggregator | None,
) -> None:
    """Raise where an engine was made for something else than it is to train."""
    same = setting.federation is federation and setting.task is task and setting.seed == seed
    if not same or aggregator not in (None, setting.aggregator):
        raise ConfigError(
            "the engine was made for another federation, task, seed or aggregator; let train make it, by its "
            "name, or make it for these."
        )
    if keep_state(setting.algorithm, task) is not setting.algorithm:
        raise ConfigError(
            "the engine was made for a method whose clients do not keep the model's state; let train make "
            "it, by its name."
        )
    counted = account_rows(setting.aggregator, setting.algorithm, federation, setting.stream is not None)
    if counted is not setting.aggregator:
        raise ConfigError(
            f"the engine was made without the account of what {setting.algorithm.name} spends; let train "
            "make it, by its name."
        )
    if hold_steps(setting.stream, setting.algorithm.rounds_per_step) is not setting.stream:
        raise ConfigError(
            f"the engine's stream changes rows every round, but a time step of {setting.algorithm.name} "
            f"takes {setting.algorithm.rounds_per_step}; let train make the engine, by its name, or give it "
            "HeldSteps(stream, rounds)."
        )
    unseen = set(watched_by(who)) - set(setting.watch)
    if unseen:
        raise ConfigError(f"the engine was not made to watch {', '.join(sorted(unseen))} of uploads.")


def _check_length(rounds: int | None, until: float) -> None:
    if rounds is not None and rounds < 0:
        raise ConfigError(f"rounds must not be negative, but is {rounds}.")
    if rounds is None and until == math.inf:
        raise ConfigError("say how many rounds to train, or until when.")


@contextmanager
def _closed_on_error(engine: Engine | None) -> Iterator[None]:
    """An engine made for a training that fails lets go of what it holds."""
    try:
        yield
    except BaseException:
        if engine is not None:
            engine.close()
        raise


class _Ready(NamedTuple):
    """A training before its first step."""

    engine: Engine
    participation: Participation
    steps: Steps
    now: Progress
    clients: Clients
    """What the timing was told of the clients."""
    events: list[dict[str, Any]]
    """What is worth recording before the first step."""

    def plan(self, rounds: int | None, evaluate_every: int | None, checkpoint_every: int | None) -> Cadence:
        """How many rounds there will be, and when to evaluate and to save."""
        if rounds is not None:
            return make_cadence(rounds, rounds, evaluate_every, checkpoint_every)
        timing, until = self.steps.timing, self.steps.until
        expected = len(plan_schedule(timing, self.clients, until).steps)
        # With everyone this is exact; where some are drawn, the clock alone says when it is over.
        exact = self.participation.everyone
        return make_cadence(expected if exact else ENDLESS, expected, evaluate_every, checkpoint_every)


def _ready(
    engine: Engine,
    who: Participation,
    timing: Timing,
    until: float,
    initial: State | None,
    keep_history: bool,
) -> _Ready:
    """The state before the first step; whatever is impossible is refused."""
    setting = engine.setting
    task, algorithm = setting.task, setting.algorithm
    first = algorithm.init(task, root_key(setting.seed, "init")) if initial is None else initial
    if algorithm.needs_rounds and not timing.by_cohort:
        raise ConfigError(
            f"{type(algorithm).__name__} goes through phases that all clients share; choose a timing with "
            "rounds, such as synchronous or wait-for-all."
        )
    state = engine.place(first)
    # Not compiled: most broadcasts only pick leaves, and a compiled call would wait for the round.
    history = History(partial(algorithm.messages, task), keep_history)
    history.add(0, state)
    message = history.messages(0).of(0)
    reply = reply_template(setting, message)
    engine.check(who, message, reply)
    memories = engine.memories(reply.memory, len(setting.federation))
    if "update_norm" in who.asks and memories:
        raise ConfigError(
            f"asking for updates before choosing would change what {type(algorithm).__name__}'s clients "
            "remember; use a sampling that does not ask, such as md or clustered-size."
        )
    now = Progress(state, history, memories)
    traffic, jobs = algorithm.traffic(message, reply.upload), engine.jobs(history.tree)
    clients = Clients(setting.federation.importance, setting.seed, *traffic, jobs)
    timing.begin(clients)
    steps = Steps(timing, Cohorts(setting, engine, who, timing, now), until)
    return _Ready(engine, who, steps, now, clients, [])


def _train(
    ready: _Ready,
    cadence: Cadence,
    folder: RunFolder | None,
    resume: bool,
    evaluate_clients: int,
    observers: Observers,
    keeper: RoundKeeper | None,
    stopping: Stopping,
) -> Run:
    engine, who, steps, now, clients, events = ready
    setting, record = engine.setting, folder.record if folder else Record(":memory:")
    checkpointer = Checkpointer(folder, engine, who, steps, now)
    if resume:
        checkpointer.resume(cadence.rounds, real_jobs=clients.jobs is not None)
    best = _best_model(setting, folder, now)
    if keeper is not None:
        keeper.begin(now.done, now.state)
    about = _about(setting, folder, now.done)
    with observers.watching(about) as made, Interrupts() as interrupts:
        if clients.jobs is not None:
            clients.jobs.pause = interrupts.pause
        # Whoever is shown every round gets them one by one.
        counted = setting.algorithm.weighs_rounds and setting.stream is not None
        alone = keeper is not None or setting.algorithm.converges or counted
        limits = (
            BlockLimits() if alone else choose_limits(engine, who, steps.timing, cadence, steps.cohorts, now)
        )
        traffic = (clients.bytes_down, clients.bytes_up)
        describe = Describe(traffic, setting.federation.name, steps.cohorts.notes, not engine.trusts_metrics)
        target = stopping.target
        also = target.metric if target is not None and target.split == "train" else None
        evaluation = Evaluation(engine, record, evaluate_clients, also)
        recorder = Recorder(
            *(record, engine, who, now, cadence, describe, evaluation, checkpointer),
            *(observers, stopping, best, keeper),
        )
        if events:
            record.write_round(now.done, {}, events=events)
        blocks = Blocks(steps, limits, cadence, now, interrupts, lambda: recorder.enough)
        train_rounds(blocks, engine, now, recorder)
        engine.check_trained()
        note_final_numbers(record, now.done)
        if folder:
            if best is not None:
                best.save()
            checkpointer.save()
            folder.save_model(_model_to_keep(now, evaluation.divergence, record))
            folder.finished = True
        warn_of_divergence(record)
        made.append(Run(setting, engine, now.state, now.memories, now.history, record, folder))
    return made[0]


def _best_model(setting: Setting, folder: RunFolder | None, now: Progress) -> BestModel | None:
    """Where the best model is kept; a method whose clients predict by themselves has no single one."""
    if setting.algorithm.personalized or not setting.algorithm.has_server:
        return None
    best = BestModel(judging_metric(setting.task, setting.federation), folder)
    best.resume(now.done, now.messages.tree)
    return best


def _about(setting: Setting, folder: RunFolder | None, done: int) -> About:
    name = setting.algorithm.name or type(setting.algorithm).__name__
    if folder is None:
        return About(name, {}, None, done)
    return About(folder.path.name, dict(folder.config), folder.path, done)


def _folder(out: Out, resume: bool) -> RunFolder | None:
    if out is None or isinstance(out, RunFolder):
        return out
    if callable(out):
        return out()
    if not isinstance(out, str | Path):
        raise ConfigError(f"out must be the path of a run folder, but is {out!r}.")
    return RunFolder.open(out) if resume else RunFolder.create(out, {"made_by": "unalike.train"})


def _model_to_keep(now: Progress, divergence: Divergence, record: Record) -> Message:
    """The last model, or, where training has diverged, the last one that was sound."""
    if not divergence.lost or divergence.sound is None:
        return now.messages.tree
    round, message = divergence.sound
    record.write_round(now.done, {}, events=[{"kind": "kept model", "of_round": round}])
    return message
