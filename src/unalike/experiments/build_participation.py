"""Building the participation of an experiment from its settings."""

from __future__ import annotations

import numpy as np

from ..core.spec import Spec
from ..data import Federation
from ..data.similarity.principal_direction import client_messages
from ..errors import ConfigError
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
from ..typing import ClientIds, Float64s, Int64s
from .config import DEFAULT_ROUNDS, Experiment

MOST_FITTED = 20_000
"""Clients whose least losses are found before training."""
BY_LOSSES = ("ca-fed", "ca-fed-batch")
"""Strategies that compare clients' losses with their least ones."""


def make_participation(experiment: Experiment, federation: Federation) -> Participation:
    """A sampler or, where clients come and go, one behind an availability and a strategy.

    Where the strategy needs each client's smallest loss, a training fits it before it begins.
    """
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
    strategy = _strategy(experiment, len(federation), _clusters(experiment, availability))
    beliefs = None
    if experiment.beliefs == "known":
        beliefs = Known(availability.active, availability.correlation)
    return Intermittent(availability, strategy, sampler, beliefs)


def make_sampler(experiment: Experiment, federation: Federation) -> Sampler | None:
    """The sampler, or None when everyone takes part."""
    spec = experiment.spec("sampling")
    if spec is None:
        if experiment.per_round is None:
            return None
        kind = Renormalized if experiment.availability is None else Uniform
        return kind(per_round=experiment.per_round)
    if experiment.per_round is None and spec.name != "full":
        raise ConfigError(f"sampling {spec.name!r} needs to know how many clients to draw; give per_round.")
    return sampler_registry.make(
        spec,
        per_round=experiment.per_round,
        sizes=federation.train.sizes,
        labels=_majority(federation) if spec.name == "target" else None,
        messages=_messages(federation) if spec.name == "clustered-data" else None,
        seed=experiment.seed,
    )


def _fits_local_minima(experiment: Experiment) -> bool:
    """Whether words ask for each client's least loss: CA-Fed, unless they say what it is taken to be, for a
    model whose losses are convex."""
    strategy = experiment.spec("participation")
    named = strategy is not None and strategy.name in BY_LOSSES and len(strategy.arguments) < 2
    return named and experiment.spec("model").name == "linear"


def _strategy(experiment: Experiment, clients: int, clusters: ClientIds | None) -> Strategy:
    spec = experiment.spec("participation") or Spec.parse("fedavg")
    fitted = _fits_local_minima(experiment)
    if fitted and clients > MOST_FITTED:
        raise ConfigError(
            f"{spec.name} would first fit the model to each of {clients:,} clients, which takes too "
            f"long above {MOST_FITTED:,}; say what their least losses are taken to be, such as "
            f"{spec.text if ':' in spec.text else f'{spec.name}:1'},running."
        )
    return strategy_registry.make(
        spec,
        fit_minima=fitted,
        groups=clusters,
        per_round=experiment.per_round,
        rounds=experiment.rounds_to_train or DEFAULT_ROUNDS,
    )


def _clusters(experiment: Experiment, availability: Availability) -> ClientIds | None:
    """The cluster of each client, where whole clusters come and go."""
    spec = experiment.spec("availability")
    return availability.groups if spec is not None and spec.name == "clusters" else None


def _messages(federation: Federation) -> Float64s:
    """The direction of each client's rows; zeros for who has none."""
    clients, found = client_messages(federation.train)
    messages = np.zeros((len(federation), found.shape[1]))
    messages[clients] = found
    return messages


def _majority(federation: Federation) -> Int64s:
    """The most frequent label of each client."""
    return federation.label_counts().argmax(axis=1)
