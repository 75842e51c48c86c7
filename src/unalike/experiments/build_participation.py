"""How do an experiment's words on who takes part become a participation?"""

from __future__ import annotations

from ..data import Federation
from ..errors import ConfigError
from ..models import Task
from ..participation import (
    Availability,
    Full,
    Intermittent,
    Known,
    Participation,
    Renormalized,
    Sampler,
    Strategy,
    Uniform,
    availability_registry,
    sampler_registry,
    strategy_registry,
)
from ..typing import Int64s
from .config import DEFAULT_ROUNDS, Experiment
from .local_minima import local_minima

MOST_FITTED = 20_000
"""Clients whose least losses are found before training."""


def make_participation(experiment: Experiment, federation: Federation, task: Task) -> Participation:
    """A sampler or, where clients come and go, one behind an availability and a strategy."""
    sampler = make_sampler(experiment, federation)
    if experiment.availability is None:
        for name in ("participation", "beliefs"):
            if name in experiment.model_fields_set and getattr(experiment, name) not in (None, "estimated"):
                raise ConfigError(
                    f"{name} = {getattr(experiment, name)!r} is about clients that come and go; "
                    "say when they are there with availability, such as markov:0.5,0.9."
                )
        return sampler or Full()
    availability = availability_registry.make(
        experiment.availability, clients=len(federation), seed=experiment.seed
    )
    strategy = _strategy(experiment, federation, task, availability)
    beliefs = None
    if experiment.beliefs == "known":
        beliefs = Known(availability.active, availability.correlation)
    return Intermittent(availability, strategy, sampler, beliefs)


def make_sampler(experiment: Experiment, federation: Federation) -> Sampler | None:
    """The sampler, or None when everyone takes part."""
    if experiment.sampling is None:
        if experiment.per_round is None:
            return None
        kind = Renormalized if experiment.availability is None else Uniform
        return kind(per_round=experiment.per_round)
    name = experiment.sampling.partition(":")[0]
    if experiment.per_round is None and name != "full":
        raise ConfigError(f"sampling {name!r} needs to know how many clients to draw; give per_round.")
    return sampler_registry.make(
        experiment.sampling,
        per_round=experiment.per_round,
        sizes=federation.train.sizes,
        labels=_majority(federation) if name == "target" else None,
        seed=experiment.seed,
    )


def _strategy(
    experiment: Experiment, federation: Federation, task: Task, availability: Availability
) -> Strategy:
    spec = experiment.participation or "fedavg"
    clusters = availability.groups if experiment.availability.partition(":")[0] == "clusters" else None  # type: ignore[union-attr]
    minima = None
    if spec.startswith("ca-fed") and spec.count(",") == 0 and experiment.model.startswith("linear"):
        if len(federation) > MOST_FITTED:
            raise ConfigError(
                f"ca-fed would first fit the model to each of {len(federation):,} clients, which takes too "
                f"long above {MOST_FITTED:,}; say what their least losses are taken to be, such as "
                f"{spec if ':' in spec else 'ca-fed:1'},running."
            )
        minima = local_minima(federation, task, experiment.seed)
    return strategy_registry.make(
        spec,
        minima=minima,
        groups=clusters,
        per_round=experiment.per_round,
        rounds=experiment.rounds_to_train or DEFAULT_ROUNDS,
    )


def _majority(federation: Federation) -> Int64s:
    """The most frequent label of each client."""
    return federation.label_counts().argmax(axis=1)
