"""Building an :class:`Experiment`: from settings to data, model, algorithm and timing.

Nothing is trained here, whatever the words say; :mod:`.run` does that.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ..aggregation.base import Aggregator, WeightedSum, aggregator_registry
from ..algorithms import Algorithm, LocalWork, Optimizer, algorithm_registry
from ..core.catalog import separate
from ..data import Federation, MemoryStream, Stream, load
from ..data.reference_rows import shuffle_rows
from ..data.streams import arrival_registry
from ..errors import ConfigError, unknown
from ..models import Task
from ..timing import NetworkTime, Timing, timing_registry
from ..training.early_stopping import StopRule
from ..trust.behaviors import SimulatedAttack, behavior_registry
from ..trust.monitor import monitor_registry
from ..typing import Keywords
from .build_privacy import central_rule, check_privacy, with_local_privacy
from .build_topology import make_connectivity, make_network_timing
from .build_unlearning import check_unlearning
from .check_names import check_names
from .config import Experiment, settings_of

_SHARED = ("work", "optimizer", "server_optimizer")
"""Settings of an algorithm that have options of their own on the command line."""


def make_federation(experiment: Experiment, without: Sequence[str] = ()) -> Federation:
    """The clients and their rows, how much they count, and their groups; columns of tables are prepared as
    if the clients `without` which that is asked for had never been there."""
    loaded = load(
        experiment.data,
        label=experiment.label,
        client_column=experiment.client_column,
        drop=experiment.drop,
        keep_columns=experiment.keep_columns,
        prepare=experiment.prepare,
        missing=experiment.missing,
        partition=experiment.partition,
        sizes=experiment.sizes,
        clients=experiment.clients or _silos(experiment),
        samples=experiment.samples,
        skew=experiment.skew,
        test_fraction=experiment.test_fraction,
        validation_fraction=experiment.validation_fraction,
        seed=experiment.seed,
        watermark=experiment.watermark,
        watermarked=experiment.watermarked,
        without=without,
        historical_share=experiment.historical_share,
        historical_clients=historical_clients(experiment),
    )
    if learns_from_reference(experiment):
        loaded = shuffle_rows(loaded, experiment.seed)
    return loaded.with_groups(experiment.groups).with_importance(client_importance(experiment))


def client_importance(experiment: Experiment) -> str:
    """How much clients count: as the experiment says, or else as its method was published.

    >>> client_importance(Experiment()), client_importance(Experiment(algorithm="perturbed"))
    ('data', 'similarity')
    """
    if experiment.importance is not None:
        return experiment.importance
    return str(getattr(algorithm_registry[experiment.algorithm], "usual_importance", "data"))


def _silos(experiment: Experiment) -> int | None:
    """On a network there is a client on every silo, unless something else is asked for."""
    return None if experiment.network is None else len(make_connectivity(experiment))


def make_task(experiment: Experiment, federation: Federation) -> Task:
    """The model, its loss and its metrics."""
    metrics = None if experiment.metrics is None else separate(experiment.metrics)
    state = experiment.state or "refuse"
    return Task.of(federation, experiment.model, l2=experiment.l2, metrics=metrics, state=state)


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
        if type(parameters[name].default) is float and type(experiment.options[name]) not in (int, float):
            raise ConfigError(f"{name} must be a number, but is {experiment.options[name]!r}.")
    settings: Keywords = {
        "work": _work(experiment),
        "optimizer": _optimizer(experiment),
        **experiment.options,
    }
    if experiment.reference_fraction is not None:
        if "reference_fraction" not in own:
            raise ConfigError(
                f"{experiment.algorithm} has no use for reference rows; leave out reference_fraction, or "
                "choose a method such as werm."
            )
        settings["reference_fraction"] = experiment.reference_fraction
    server = _server(experiment, parameters.get("server_optimizer"))
    if server is not None:
        settings["server_optimizer"] = server
    try:
        return algorithm_registry.make(experiment.algorithm, **settings)
    except TypeError as error:
        raise ConfigError(f"{experiment.algorithm} does not take these options: {error}.") from None


def learns_from_reference(experiment: Experiment) -> bool:
    """Whether the method tells a client's last training rows from the others."""
    return "reference_fraction" in inspect.signature(algorithm_registry[experiment.algorithm]).parameters


def make_aggregator(experiment: Experiment, clients: int) -> Aggregator:
    """What the server makes of single uploads before they are mixed, and who watches them."""
    check_privacy(experiment)
    rule: Aggregator = WeightedSum()
    if experiment.central_dp is not None:
        rule = central_rule(experiment, clients)
    elif experiment.aggregator is not None:
        rule = aggregator_registry.make(experiment.aggregator, clients=clients)
    if experiment.monitor is not None:
        rule = monitor_registry.make(experiment.monitor, clients=clients, rule=rule)
    return rule


def make_attack(experiment: Experiment, federation: Federation) -> SimulatedAttack | None:
    """What dishonest clients do, and who they are; None where all are honest."""
    if experiment.behavior is None:
        return None
    return SimulatedAttack.of(experiment.behavior, experiment.dishonest or "1", federation)


def check_behavior(experiment: Experiment) -> None:
    """Raise for a behavior that does not exist, or for dishonest clients without one."""
    if experiment.behavior is not None:
        behavior_registry.make(experiment.behavior)
    elif experiment.dishonest is not None:
        raise ConfigError(
            f"dishonest = {experiment.dishonest!r} does not say what these clients do; say it with "
            "behavior, such as free-rider:decay."
        )


def make_stream(experiment: Experiment) -> Stream | None:
    """Which rows clients hold in a round, and how much they count; None where all are there all the time."""
    if experiment.stream is None:
        for name in settings_of(group="Stream"):
            if getattr(experiment, name) is not None:
                raise ConfigError(
                    f"{name} = {getattr(experiment, name)!r} is about rows that arrive while training; say "
                    "how they arrive with stream, such as constant:20."
                )
        return None
    historical_clients(experiment)  # refused here if the stream has none
    usual = "memory-size" if client_importance(experiment) == "data" else "importance"
    weights = experiment.stream_weights or usual
    return MemoryStream(
        experiment.stream,
        experiment.memory,
        weights,
        drift=experiment.drift,
        detector=experiment.drift_detector,
        period=experiment.stream_period,
    )


def historical_clients(experiment: Experiment) -> float | None:
    """Which clients of a stream are historical, where they are to have a share of all rows: a share of the
    clients, or a number."""
    if experiment.historical_share is None or experiment.stream is None:
        return None
    given = arrival_registry.make(experiment.stream).historical_clients
    if not given:
        raise ConfigError(
            f"historical_share = {experiment.historical_share:g} needs historical clients; say how many, "
            "after the arrivals, such as stream = 'spread:100,0.5'."
        )
    if experiment.unseen:
        raise ConfigError(
            "historical_share counts rows of all clients, and unseen leaves some of them out; leave out one "
            "of the two."
        )
    return given


def make_timing(experiment: Experiment) -> Timing:
    """When results arrive: a policy with its hardware, network and weights."""
    if experiment.network is not None:
        return _network_timing(experiment)
    name = experiment.spec("timing").name
    if name == "synchronous":
        about_time = ("hardware", "bandwidth", "dropout", "timeout", "until")
        if not any(getattr(experiment, option) for option in about_time):
            for option in ("timing_weights", "largest_weight"):
                if getattr(experiment, option) is not None:
                    raise ConfigError(
                        f"{option} means nothing in synchronous rounds; choose a timing, such as fedfix:0.5."
                    )
            return timing_registry.make(experiment.timing)
    spec = "wait-for-all" if name == "synchronous" else experiment.timing
    settings: Keywords = {
        "hardware": experiment.hardware or "equal",
        "network": None if experiment.bandwidth is None else NetworkTime.of(experiment.bandwidth),
        "staleness": experiment.staleness,
        "dropout": experiment.dropout,
        "timeout": experiment.timeout,
    }
    return timing_registry.make(spec, **settings, **weight_settings(experiment))


def weight_settings(experiment: Experiment) -> Keywords:
    """How results weigh, as far as it was said."""
    asked = {"weights": experiment.timing_weights, "largest_weight": experiment.largest_weight}
    return {name: value for name, value in asked.items() if value is not None}


def _network_timing(experiment: Experiment) -> Timing:
    if experiment.timing != "synchronous" or experiment.hardware or experiment.bandwidth:
        raise ConfigError("a network has a clock of its own; leave out timing, hardware and bandwidth.")
    if experiment.largest_weight is not None:
        raise ConfigError("largest_weight caps results of a timing, such as fedfix:0.5, not of a network.")
    return make_network_timing(experiment)


class Method(NamedTuple):
    """What words say of a run before any data are read."""

    algorithm: Algorithm
    timing: Timing


def check(experiment: Experiment) -> Method:
    """The algorithm and the timing; raises for words that do not exist or do not go together, before any data
    are read."""
    check_names(experiment.model_dump())
    make_stream(experiment)
    check_behavior(experiment)
    make_aggregator(experiment, clients=1)  # whatever their number, its words must mean something
    if experiment.stop_at is not None:
        StopRule.of(experiment.stop_at)
    algorithm = with_local_privacy(experiment, make_algorithm(experiment))
    method = Method(algorithm, make_timing(experiment))
    matrix, has_server = method.timing.traits.mixes_by_matrix, method.algorithm.has_server
    if not has_server and not matrix:
        raise ConfigError(
            f"{experiment.algorithm} has no server; say who hears whom, such as --network ring."
        )
    if matrix and has_server:
        raise ConfigError(
            f"{experiment.algorithm} needs a server; without one there are dpasgd, push-sum and d-fedem."
        )
    if experiment.restarts > 1 and experiment.rounds_to_train is None:
        raise ConfigError("restarts are tried for half of the rounds; say how many rounds to train.")
    check_unlearning(experiment, method.algorithm)
    return method


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
    """The server's optimizer, where the algorithm has one and the experiment changes it."""
    name, rate = experiment.server_optimizer, experiment.server_learning_rate
    if name is None and rate is None:
        return None
    if parameter is None:
        raise ConfigError(
            f"{experiment.algorithm} has no server optimizer; leave out its name and learning rate."
        )
    default = parameter.default if isinstance(parameter.default, Optimizer) else Optimizer("sgd", 1.0)
    kept = replace(default, learning_rate=default.learning_rate if rate is None else rate)
    return kept if name is None else Optimizer(name, kept.learning_rate)
