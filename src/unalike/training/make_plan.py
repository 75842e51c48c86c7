"""Making a plan from names and numbers: the one place where the parts of a training are put together."""

from __future__ import annotations

import math
from functools import partial

from ..aggregation.base import Aggregator, WeightedSum
from ..algorithms import Algorithm
from ..data import Federation
from ..data.streams import Stream
from ..engine import Engine
from ..errors import ConfigError
from ..models import Task
from ..participation import Full, Participation, Renormalized, check_per_round
from ..timing import Synchronous, Timing
from ..trust.behaviors import Behavior, SimulatedAttack
from ..trust.unlearning.measured_uploads import MeasuredUploads
from ..typing import State
from .arguments import (
    as_aggregator,
    as_algorithm,
    as_federation,
    as_participation,
    as_stream,
    as_task,
    as_timing,
    as_unlearning,
    check_numbers,
)
from .early_stopping import StopRule
from .newcomers import set_apart
from .noise_account import (
    PrivacyBudget,
    account_noise,
    check_spent_somewhere,
    choose_noise,
    limit_central_noise,
)
from .observers import Observers, Watching
from .plan import TrainingPlan, Unlearning
from .round_keeper import RoundKeeper
from .trackers import make_trackers
from .unlearning_history import check_unlearning_plan


def plan_training(
    federation: Federation,
    task: Task | str,
    algorithm: Algorithm | str,
    *,
    rounds: int | None,
    seed: int = 0,
    per_round: int | None = None,
    participation: Participation | str | partial[Participation] | None = None,
    timing: Timing | str | None = None,
    engine: str | Engine = "local",
    devices: int | None = None,
    stream: Stream | str | None = None,
    aggregator: Aggregator | str | partial[Aggregator] | None = None,
    behavior: str | Behavior | None = None,
    dishonest: str | int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    unseen: float = 0.0,
    importance: str | None = None,
    restarts: int = 1,
    unlearning: Unlearning | str | None = None,
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
    observer: Watching = None,
    track: str | None = None,
) -> TrainingPlan:
    """The plan of what :func:`unalike.train` would train with the same arguments; nothing is trained.

    `participation` may be a partial function that makes it for the clients that train, `aggregator` one that
    makes it for their number, and `importance` is how these clients count where others are `unseen`.
    """
    everyone = as_federation(federation)
    made, method = as_task(task, everyone), as_algorithm(algorithm)
    check_numbers(
        **{"rounds": rounds, "seed": seed, "per_round": per_round, "until": until, "restarts": restarts},
        **{"evaluate_every": evaluate_every, "checkpoint_every": checkpoint_every, "patience": patience},
    )
    clients, newcomers = set_apart(everyone, unseen, seed) if unseen else (everyone, None)
    if importance is not None:
        clients = clients.with_importance(importance)
    if per_round is not None:
        check_per_round(per_round, len(clients))
    budget = PrivacyBudget(epsilon, delta)
    method = choose_noise(method, clients, budget, rounds)
    attack = (
        None
        if behavior is None
        else SimulatedAttack.of(behavior, "1" if dishonest is None else str(dishonest), clients)
    )
    if attack is not None:
        clients, method = attack.federation(clients), attack.algorithm(method)
    if isinstance(participation, partial):
        who: Participation | None = participation(clients)
    else:
        who = as_participation(participation, per_round, clients, seed)
    arrivals = as_stream(stream)
    if isinstance(aggregator, partial):
        aggregator = aggregator(len(clients))
    rule = limit_central_noise(as_aggregator(aggregator, len(clients)), budget)
    check_spent_somewhere(rule, method, budget)
    if isinstance(engine, str):
        rule = account_noise(rule or WeightedSum(), method, clients, arrivals is not None, budget)
        rule = rule if attack is None else attack.aggregator(rule)
    elif attack is not None:
        raise ConfigError("an engine that is an object has honest clients; let train make it, by its name.")
    kept = as_unlearning(unlearning)
    if kept is not None and rule is not None:
        rule = MeasuredUploads(rule)
    usual = Full() if per_round is None else Renormalized(per_round=per_round)
    plan = TrainingPlan(
        federation=clients,
        task=made,
        algorithm=method,
        participation=who or usual,
        timing=as_timing(timing) or Synchronous(),
        stream=arrivals,
        aggregator=rule,
        engine=engine,
        devices=devices,
        seed=seed,
        rounds=rounds,
        until=until,
        stop_at=stop_at,
        patience=patience,
        evaluate_every=evaluate_every,
        evaluate_clients=evaluate_clients,
        evaluate_training=evaluate_training,
        regret=regret,
        checkpoint_every=checkpoint_every,
        initial=initial,
        restarts=restarts,
        newcomers=newcomers,
        unlearning=kept,
        keep_history=keep_history,
        keeper=keeper,
        observers=(*Observers(observer).several, *make_trackers(track)),
    )
    check_unlearning_plan(plan)
    return plan
