"""Arguments of `train`: by type, or by the strings of the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..aggregation.base import Aggregator, aggregator_registry
from ..algorithms import Algorithm, LocalWork, Optimizer, algorithm_registry
from ..core.registry import Registry
from ..core.spec import Spec
from ..data import Federation
from ..data.streams import MemoryStream, Stream
from ..errors import ConfigError
from ..models import Task
from ..participation import Participation, Sampler, sampler_registry
from ..timing import Timing, timing_registry
from .plan import Unlearning

T = TypeVar("T")


def as_federation(given: object) -> Federation:
    """The federation; a name of data does not say how they are partitioned, and is refused."""
    if isinstance(given, str):
        raise ConfigError(f"the federation is {given!r}; load it first, such as unalike.load({given!r}).")
    return _instance(given, Federation, "federation", "unalike.load(...) or Federation.from_clients(...)")


def as_task(given: object, federation: Federation) -> Task:
    """The task, or the one that a model's name makes for these clients."""
    made = Task.of(federation, given) if isinstance(given, str) else given
    return _instance(made, Task, "task", 'Task.of(federation, "mlp") or the name of a model')


def as_algorithm(given: object) -> Algorithm:
    """The algorithm, or the one of a name with its own settings."""
    made = _make_by_name(given, Algorithm, algorithm_registry.make, "algorithm", "FedAvg() or its name")
    for name in ("optimizer", "server_optimizer"):
        if not isinstance(getattr(made, name, None), Optimizer | None):
            _instance(getattr(made, name), Optimizer, name, 'Optimizer("sgd", 0.1)')
    if not isinstance(getattr(made, "work", None), LocalWork | None):
        _instance(made.work, LocalWork, "work", "LocalWork(epochs=1)")
    return made


def as_participation(
    given: object, per_round: int | None, federation: Federation, seed: int
) -> Participation | None:
    """Who takes part, or a sampler by name."""
    if isinstance(given, str) and _needs(sampler_registry, given, "per_round") and per_round is None:
        raise ConfigError(f"participation {given!r} draws some clients; say how many with per_round.")

    def make(name: str) -> Participation:
        return sampler_registry.make(name, per_round=per_round, sizes=federation.train.sizes, seed=seed)

    example = "Multinomial(per_round=10) or the name of a sampler"
    return None if given is None else _make_by_name(given, Participation, make, "participation", example)


def as_timing(given: object) -> Timing | None:
    """When results arrive, or a policy by name."""
    example = "FedFix(0.5) or its name, such as fedfix:0.5"
    return None if given is None else _make_by_name(given, Timing, timing_registry.make, "timing", example)


def as_stream(given: object) -> Stream | None:
    """Which rows clients hold, or how they arrive, by name."""
    example = 'MemoryStream("constant:5") or "constant:5"'
    return None if given is None else _make_by_name(given, Stream, MemoryStream, "stream", example)


def as_aggregator(given: object, clients: int) -> Aggregator | None:
    """What the server makes of uploads, or a rule by name."""

    def make(name: str) -> Aggregator:
        return aggregator_registry.make(name, clients=clients)

    example = "NormBound(1.0) or the name of a rule, such as median"
    return None if given is None else _make_by_name(given, Aggregator, make, "aggregator", example)


def as_unlearning(given: object) -> Unlearning | None:
    """What is kept so that clients can be forgotten, or the models that are kept, by name."""
    made = Unlearning(given) if isinstance(given, str) else given
    return (
        None if given is None else _instance(made, Unlearning, "unlearning", '"full" or Unlearning("grid:5")')
    )


def check_whole(name: str, value: object) -> None:
    """Raise if something is no whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ConfigError(f"{name} must be a whole number, but is {value!r}.")


def check_numbers(
    *,
    rounds: Any,
    seed: Any,
    per_round: Any,
    evaluate_every: Any,
    checkpoint_every: Any,
    until: Any,
    patience: Any,
    restarts: Any,
) -> None:
    """Raise where a length, a cadence or the seed is no number, or has no meaning."""
    check_whole("seed", seed)
    check_whole("restarts", restarts)
    if restarts < 1:
        raise ConfigError(f"restarts must be at least 1, but is {restarts}.")
    some = {"rounds": rounds, "per_round": per_round, "patience": patience}
    cadences = {"evaluate_every": evaluate_every, "checkpoint_every": checkpoint_every}
    for name, value in (some | cadences).items():
        if value is not None:
            check_whole(name, value)
            if name in cadences and value < 0:
                raise ConfigError(f"{name} must not be negative, but is {value}; 0 means never.")
    if patience is not None and evaluate_every == 0:
        raise ConfigError(
            "patience follows evaluations, and evaluate_every = 0 makes none; leave out one of them."
        )
    if isinstance(until, bool) or not isinstance(until, int | float | np.number) or not until > 0:
        raise ConfigError(f"until must be a time above 0, but is {until!r}.")


def _make_by_name(given: object, kind: type[T], make: Callable[[str], T], name: str, example: str) -> T:
    made = make(given) if isinstance(given, str) else given
    return _instance(made, kind, name, example)


def _instance(given: object, kind: type[T], name: str, example: str) -> T:
    if isinstance(given, kind):
        return given
    if inspect.isclass(given) and issubclass(given, kind):
        raise ConfigError(f"{name} is the class {given.__name__}; make one of it: {given.__name__}(...).")
    article = "an" if kind.__name__[0] in "AEIOU" else "a"
    raise ConfigError(
        f"{name} must be {article} {kind.__name__}, such as {example}, but is {_show_value(given)}."
    )


def _needs(registry: Registry[Sampler], name: str, parameter: str) -> bool:
    found = inspect.signature(registry[Spec.parse(name)]).parameters.get(parameter)
    return found is not None and found.default is found.empty


def _show_value(given: object) -> str:
    text = repr(given)
    return text if len(text) <= 60 else f"of the type {type(given).__name__}"
