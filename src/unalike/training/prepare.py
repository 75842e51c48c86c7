"""Preparing a plan: engine, initial state and steps, or a refusal.

Whatever is impossible is refused here, before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from ..aggregation.base import WeightedSum
from ..aggregation.observed_updates import WATCHED
from ..algorithms.shared.local_state import keep_state
from ..data.streams import Stream, hold_steps
from ..engine import Engine, Setting, engine_registry, reply_template, root_key
from ..errors import ConfigError
from ..models.task_fit import check_task_fit, warn_of_scale
from ..participation import Participation, check_draw
from ..participation.samplers.usual_bias import warn_of_bias
from ..runs.selection import TEST_ROWS
from ..timing import Clients, plan_schedule
from ..typing import Event, Message
from .best_model import judging_metric
from .cadence import ENDLESS, Cadence, make_cadence
from .early_stopping import Patience, Stopping, StopRule
from .exposed_rows import row_events
from .fingerprint import Fingerprint, settings_fingerprint
from .history import History
from .noise_account import account_noise
from .plan import TrainingPlan
from .regret import check_regret
from .steps import Cohorts, Steps
from .stream_clock import follow_clock
from .stream_weights import assumption_events
from .training_state import Progress


@dataclass
class Prepared:
    """A training before its first step."""

    plan: TrainingPlan
    engine: Engine
    steps: Steps
    now: Progress
    clients: Clients
    """What the timing knows of the clients."""
    stopping: Stopping
    cadence: Cadence
    events: list[Event] = field(default_factory=list)
    """What is worth recording before the first step."""


@contextmanager
def prepare_plan(plan: TrainingPlan, resume: bool = False, kept: bool = False) -> Iterator[Prepared]:
    """A plan made ready; an engine made for it is closed if what follows fails.

    Args:
        plan: what is to be trained.
        resume: whether it is trained already for some rounds.
        kept: whether it is kept in a folder, so that checkpoints make sense.
    """
    check_task_fit(plan.task, plan.federation)
    if plan.engine == "flower":
        raise ConfigError("real clients train by `unalike serve` and `unalike join`, not here.")
    check_regret(
        plan.regret, plan.stream is not None, plan.engine if isinstance(plan.engine, str) else "local"
    )
    who = plan.participation
    who.check(len(plan.federation), plan.rounds or 0)
    check_draw(who, plan.federation.importance, plan.seed)
    events = _warnings(plan, resume)
    if isinstance(plan.engine, str):
        engine, said = _make_engine(plan, plan.engine)
        events += [] if resume else said
    else:
        engine = _use_engine(plan, plan.engine)
    with _close_on_error(engine if isinstance(plan.engine, str) else None):
        steps, now, clients = _start(plan, engine)
        stopping = _stopping(plan)
        if stopping.patience is not None and stopping.patience.metric.startswith("test_") and not resume:
            events.append({"kind": TEST_ROWS, "metric": stopping.patience.metric})
        every = plan.evaluate_every
        if (stopping.target is not None or plan.regret is not None) and every is None:
            every = 1
        cadence = _cadence(plan, steps, clients, every, plan.checkpoint_every if kept else 0)
        yield Prepared(plan, engine, steps, now, clients, stopping, cadence, events)


def plan_fingerprint(plan: TrainingPlan) -> Fingerprint:
    """What is computed, for a folder to remember."""
    parts = {
        **{"task": plan.task, "method": plan.algorithm, "participation": plan.participation},
        **{"timing": plan.timing, "stream": plan.stream, "aggregation": plan.aggregator or WeightedSum()},
    }
    return settings_fingerprint(plan.seed, **parts)


def requested_updates(who: Participation) -> tuple[str, ...]:
    """What is to be reported of every upload because a participation wants to see it."""
    return tuple(sorted({*who.watches, *who.asks} & set(WATCHED)))


def _warnings(plan: TrainingPlan, resume: bool) -> list[Event]:
    """Events of a draw that is biased, features that are too large, and rows that uploads give away."""
    events: list[Event] = []
    if plan.by_rounds and not resume:
        events += warn_of_bias(plan.participation, plan.federation.importance, plan.federation.name)
    if not (resume or plan.algorithm.needs.float64):
        events += [*warn_of_scale(plan.federation), *row_events(plan.algorithm, plan.federation)]
    return events


def _make_engine(plan: TrainingPlan, name: str) -> tuple[Engine, list[Event]]:
    """The engine of a name, for a method and a stream that are ready, and what is worth recording."""
    stream = plan.stream
    events: list[Event] = []
    if stream is not None:
        stream, events = follow_clock(stream, plan.timing, plan.until, name)
    stream = hold_steps(stream, plan.algorithm.rounds_per_step)
    _begin_stream(plan, stream)
    events += assumption_events(stream)
    algorithm = keep_state(plan.algorithm, plan.task).prepare(plan.task, plan.federation)
    rule = account_noise(plan.aggregator or WeightedSum(), algorithm, plan.federation, stream is not None)
    setting = Setting(
        *(plan.federation, plan.task, algorithm, plan.seed, stream, plan.devices),
        *(requested_updates(plan.participation), None, rule),
    )
    return engine_registry.make(name, setting=setting), events


def _use_engine(plan: TrainingPlan, engine: Engine) -> Engine:
    """An engine that somebody has made for this very training."""
    _check_engine(plan, engine.setting)
    if plan.stream not in (None, engine.setting.stream):
        raise ConfigError("the engine was made for another stream; let train make it, by its name.")
    _begin_stream(plan, engine.setting.stream)
    return engine


def _begin_stream(plan: TrainingPlan, stream: Stream | None) -> None:
    if stream is not None:
        stream.begin(plan.federation, plan.seed, plan.rounds)


def _check_engine(plan: TrainingPlan, setting: Setting) -> None:
    """Raise where an engine was made for something else than it is to train."""
    same = setting.federation is plan.federation and setting.task is plan.task and setting.seed == plan.seed
    if not same or plan.aggregator not in (None, setting.aggregator):
        raise ConfigError(
            "the engine was made for another federation, task, seed or aggregator; let train make it, by its "
            "name, or make it for these."
        )
    if keep_state(setting.algorithm, plan.task) is not setting.algorithm:
        raise ConfigError(
            "the engine was made for a method whose clients do not keep the model's state; let train make "
            "it, by its name."
        )
    streamed = setting.stream is not None
    if (
        account_noise(setting.aggregator, setting.algorithm, plan.federation, streamed)
        is not setting.aggregator
    ):
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
    unseen = set(requested_updates(plan.participation)) - set(setting.watch)
    if unseen:
        raise ConfigError(f"the engine was not made to watch {', '.join(sorted(unseen))} of uploads.")


@contextmanager
def _close_on_error(engine: Engine | None) -> Iterator[None]:
    """An engine made for a training that fails lets go of what it holds."""
    try:
        yield
    except BaseException:
        if engine is not None:
            engine.close()
        raise


def _start(plan: TrainingPlan, engine: Engine) -> tuple[Steps, Progress, Clients]:
    """The state before the first step, and the steps that will follow."""
    setting, who, timing = engine.setting, plan.participation, plan.timing
    task, algorithm = setting.task, setting.algorithm
    first = algorithm.init(task, root_key(setting.seed, "init")) if plan.initial is None else plan.initial
    if algorithm.needs.rounds and not timing.traits.by_cohort:
        raise ConfigError(
            f"{type(algorithm).__name__} goes through phases that all clients share; choose a timing with "
            "rounds, such as synchronous or wait-for-all."
        )
    state = engine.place(first)
    # Not compiled: most broadcasts only pick leaves, and a compiled call would wait for the round.
    history = History(partial(algorithm.messages, task), plan.keep_history)
    history.add(0, state)
    message: Message = history.messages(0).of(0)
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
    return Steps(timing, Cohorts(setting, engine, who, timing, now), plan.until), now, clients


def _cadence(
    plan: TrainingPlan,
    steps: Steps,
    clients: Clients,
    evaluate_every: int | None,
    checkpoint_every: int | None,
) -> Cadence:
    """How many rounds there will be, and when to evaluate and to save."""
    if plan.rounds is not None:
        return make_cadence(plan.rounds, plan.rounds, evaluate_every, checkpoint_every)
    expected = len(plan_schedule(steps.timing, clients, steps.until).steps)
    # With everyone this is exact; where some are drawn, the clock alone says when it is over.
    exact = plan.participation.everyone
    return make_cadence(expected if exact else ENDLESS, expected, evaluate_every, checkpoint_every)


def _stopping(plan: TrainingPlan) -> Stopping:
    """When training ends early, checked."""
    asked = plan.stop_at
    target = asked if asked is None or isinstance(asked, StopRule) else StopRule.of(asked)
    if target is not None:
        target.check(plan.task)
    if plan.patience is not None and plan.patience < 1:
        raise ConfigError(f"patience must be at least one round, but is {plan.patience}.")
    metric = judging_metric(plan.task, plan.federation)
    return Stopping(target, None if plan.patience is None else Patience(metric, plan.patience))
