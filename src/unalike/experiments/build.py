"""How does a description become a run?  (From an :class:`Experiment` to the nouns, and to training.)"""

from __future__ import annotations

import inspect
import math
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..algorithms import Algorithm, LocalWork, Optimizer, algorithm_registry
from ..core.catalogue import separate
from ..core.pytrees import Tree
from ..data import Federation, load
from ..engine import engine_registry
from ..errors import ConfigError, unknown
from ..models import Task, metric_registry, model_registry
from ..participation import availability_registry, check_per_round, sampler_registry, strategy_registry
from ..runs import RunFolder
from ..timing import (
    Gossip,
    NetworkTime,
    OnNetwork,
    Timing,
    discount_registry,
    hardware_registry,
    timing_registry,
)
from ..training.newcomers import newcomer_summary, set_apart
from ..training.run import Run
from ..training.train import Observer, Out, train
from .build_participation import make_participation
from .build_topology import make_connectivity, make_network_timing
from .config import Experiment
from .restarts import best_start, starts

_SHARED = ("work", "optimizer", "server_optimizer")
"""Settings of an algorithm that have options of their own on the command line."""


def make_federation(experiment: Experiment) -> Federation:
    """The clients and their rows."""
    return load(
        experiment.data,
        label=experiment.label,
        partition=experiment.partition,
        clients=experiment.clients or _silos(experiment),
        samples=experiment.samples,
        skew=experiment.skew,
        test_fraction=experiment.test_fraction,
        validation_fraction=experiment.validation_fraction,
        seed=experiment.seed,
    ).with_importance(experiment.importance)


def _silos(experiment: Experiment) -> int | None:
    """On a network there is a client on every silo, unless something else is asked for."""
    return None if experiment.network is None else len(make_connectivity(experiment))


def make_task(experiment: Experiment, federation: Federation) -> Task:
    """The model, its loss and its metrics."""
    outputs = federation.classes or _targets(federation)
    model = model_registry.make(experiment.model, input_shape=federation.input_shape, outputs=outputs)
    metrics = None if experiment.metrics is None else separate(experiment.metrics)
    if federation.classes:
        return Task.classification(model, federation.classes, experiment.l2, metrics)
    return Task.regression(model, experiment.l2, metrics)


def make_algorithm(experiment: Experiment) -> Algorithm:
    """The algorithm with its hyper-parameters."""
    maker = algorithm_registry[experiment.algorithm]
    parameters = inspect.signature(maker).parameters
    own = [name for name in parameters if name not in _SHARED]
    for name in experiment.options:
        if name not in own:
            raise unknown(f"option of {experiment.algorithm}", name, own)
        if type(parameters[name].default) is int and type(experiment.options[name]) is not int:
            raise ConfigError(f"{name} must be a whole number, but is {experiment.options[name]!r}.")
    settings: dict[str, Any] = {
        "work": _work(experiment),
        "optimizer": _optimizer(experiment),
        **experiment.options,
    }
    server = _server(experiment, parameters.get("server_optimizer"))
    if server is not None:
        settings["server_optimizer"] = server
    try:
        return algorithm_registry.make(experiment.algorithm, **settings)
    except TypeError as error:
        raise ConfigError(f"{experiment.algorithm} does not take these options: {error}.") from None


def make_timing(experiment: Experiment) -> Timing:
    """When results arrive: a policy with its hardware, network and weights."""
    if experiment.network is not None:
        return _network_timing(experiment)
    name = experiment.timing.partition(":")[0]
    if name == "synchronous":
        about_time = ("hardware", "bandwidth", "dropout", "timeout", "until")
        if not any(getattr(experiment, option) for option in about_time):
            if experiment.timing_weights is not None:
                raise ConfigError(
                    "timing_weights means nothing in synchronous rounds; choose a timing, such as fedfix:0.5."
                )
            return timing_registry.make(experiment.timing)
    spec = "wait-for-all" if name == "synchronous" else experiment.timing
    settings: dict[str, Any] = {
        "hardware": experiment.hardware or "equal",
        "network": None if experiment.bandwidth is None else NetworkTime.of(experiment.bandwidth),
        "staleness": experiment.staleness,
        "dropout": experiment.dropout,
        "timeout": experiment.timeout,
    }
    if experiment.timing_weights is not None:
        settings["weights"] = experiment.timing_weights
    return timing_registry.make(spec, **settings)


def _network_timing(experiment: Experiment) -> Timing:
    if experiment.timing != "synchronous" or experiment.hardware or experiment.bandwidth:
        raise ConfigError("a network has a clock of its own; leave out timing, hardware and bandwidth.")
    return make_network_timing(experiment)


def check(experiment: Experiment) -> None:
    """Raise for names that do not exist, before any data are read."""
    for registry, spec in (
        (model_registry, experiment.model),
        (timing_registry, experiment.timing),
        (engine_registry, experiment.engine),
        (sampler_registry, experiment.sampling),
        (availability_registry, experiment.availability),
        (strategy_registry, experiment.participation),
        (hardware_registry, experiment.hardware),
        (discount_registry, experiment.staleness),
    ):
        if spec is not None:
            registry[spec.partition(":")[0]]
    for spec in separate(experiment.metrics or ""):
        metric_registry[spec.partition(":")[0]]
    algorithm, gossip = make_algorithm(experiment), isinstance(make_timing(experiment), Gossip | OnNetwork)
    if algorithm.decentralized and not gossip:
        raise ConfigError(
            f"{experiment.algorithm} has no server; say who hears whom, such as --network ring."
        )
    if gossip and not algorithm.decentralized:
        raise ConfigError(
            f"{experiment.algorithm} needs a server; without one there are dpasgd, push-sum and d-fedem."
        )


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
    check(experiment)
    federation = federation or make_federation(experiment)
    task = task or make_task(experiment, federation)
    unseen = None
    if experiment.unseen:
        federation, unseen = set_apart(federation, experiment.unseen, experiment.seed)
    if experiment.per_round is not None:
        check_per_round(experiment.per_round, len(federation))
    target: Out = out
    if out is not None and not isinstance(out, RunFolder):
        target = partial(RunFolder.create, out, experiment.model_dump(), overwrite)
    going_on = resume and isinstance(out, RunFolder) and bool(out.checkpoints.rounds())
    initial = None if going_on else _start(experiment, federation, task)
    run = _train(
        experiment,
        federation,
        task,
        rounds=experiment.rounds_to_train,
        evaluate_every=experiment.evaluate_every,
        checkpoint_every=experiment.checkpoint_every,
        initial=initial,
        out=target,
        resume=resume,
        observer=observer,
    )
    if unseen is not None:
        run.record.write_round(run.rounds, newcomer_summary(run, unseen))
    return run


def rehearse(experiment: Experiment, federation: Federation, task: Task) -> None:
    """Raise whatever :func:`run_experiment` would raise before it trains, and train nothing."""
    with suppress(_RehearsedError):
        _train(experiment, federation, task, rounds=experiment.rounds_to_train, out=_stop_there)


class _RehearsedError(Exception):
    """Everything was right up to the making of the run folder."""


def _stop_there() -> RunFolder:
    raise _RehearsedError


def _train(experiment: Experiment, federation: Federation, task: Task, **options: Any) -> Run:
    return train(
        federation,
        task,
        make_algorithm(experiment),
        until=math.inf if experiment.until is None else experiment.until,
        seed=experiment.seed,
        participation=make_participation(experiment, federation, task),
        timing=make_timing(experiment),
        engine=experiment.engine,
        devices=experiment.devices,
        evaluate_clients=experiment.evaluate_clients,
        **options,
    )


def _start(experiment: Experiment, federation: Federation, task: Task) -> Tree | None:
    """The best of several starts, or None for the usual one."""
    if experiment.restarts == 1:
        return None
    rounds = experiment.rounds_to_train
    if rounds is None:
        raise ConfigError("restarts are tried for half of the rounds; say how many rounds to train.")
    attempt = partial(_attempt, experiment, federation, task, rounds=-(-rounds // 2), evaluate_every=0)
    algorithm = make_algorithm(experiment).prepare(task, federation)
    return best_start(attempt, starts(algorithm, task, experiment.seed, experiment.restarts))[0]


def _attempt(
    experiment: Experiment, federation: Federation, task: Task, initial: Tree, **options: Any
) -> Run:
    return _train(experiment, federation, task, initial=initial, **options)


def _targets(federation: Federation) -> int:
    return 1 if federation.train.y.ndim == 1 else federation.train.y.shape[1]


def _work(experiment: Experiment) -> LocalWork:
    return LocalWork(experiment.epochs, experiment.steps, experiment.batch_size)


def _optimizer(experiment: Experiment) -> Optimizer:
    options = {} if experiment.momentum is None else {"momentum": experiment.momentum}
    return Optimizer.of(
        experiment.optimizer,
        experiment.learning_rate,
        options,
        schedule=experiment.schedule,
        clip=experiment.clip,
    )


def _server(experiment: Experiment, parameter: inspect.Parameter | None) -> Optimizer | None:
    """The server's optimiser, where the algorithm has one and the experiment changes it."""
    name, rate = experiment.server_optimizer, experiment.server_learning_rate
    if name is None and rate is None:
        return None
    if parameter is None:
        raise ConfigError(
            f"{experiment.algorithm} has no server optimiser; leave out its name and learning rate."
        )
    default = parameter.default if isinstance(parameter.default, Optimizer) else Optimizer("sgd", 1.0)
    kept = replace(default, learning_rate=default.learning_rate if rate is None else rate)
    return kept if name is None else Optimizer(name, kept.learning_rate)
