"""The availability interface: which clients are available in a round?

A server does not choose who is available: a phone has to be idle, charging and on a free network. An
:class:`Availability` says, round by round, who is there, and what is true of every client in the long run:

    active_k = lim P(client k is there),      correlation_k = Corr[there in round t, there in round t + 1].
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...core.random import generator
from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Array, Bools, ClientIds, Float64s

Presence = Bools


class Availability:
    """Which clients are there in each round.

    >>> class Weekdays(Availability):
    ...     "Everyone, five rounds of seven."
    ...     def __init__(self, clients):
    ...         self.active, self.correlation = np.full(clients, 5 / 7), np.full(clients, 0.3)
    ...     def present(self, round, rng):
    ...         return np.full(len(self.active), round % 7 < 5)
    >>> simulate(Weekdays(2), rounds=7).sum(axis=0)
    array([5, 5])
    """

    active: Float64s
    """How often each client is there in the long run (pi)."""
    correlation: Float64s
    """The correlation between two rounds that follow each other, for each client (lambda)."""
    groups: ClientIds | None = None
    """The group of each client, where clients come in groups."""
    group_names: tuple[str, ...] = ()
    chains: ClientIds | None = None
    """The two-state chain of each client, where clients are such chains; those with the same one come and go
    together."""

    def present(self, round: int, rng: np.random.Generator) -> Presence:
        """Whether each client is there; rounds are asked for in order, `rng` belongs to this one alone."""
        raise NotImplementedError(f"{type(self).__name__} must implement present().")

    def check(self, clients: int, rounds: int) -> None:
        """Raise if it does not speak of that many clients, or not for that long."""
        if len(self.active) != clients:
            raise ConfigError(
                f"this availability speaks of {len(self.active)} clients, but the federation has {clients}."
            )

    def state(self) -> dict[str, Array]:
        """What must be saved so that a resumed run meets the same clients."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """The inverse of :meth:`state`."""


availability_registry: Registry[Availability] = Registry("availability", "availabilities")


@availability_registry.add("always")
class Always(Availability):
    """Everyone is there in every round."""

    def __init__(self, *, clients: int) -> None:
        self.active, self.correlation = np.ones(clients), np.zeros(clients)
        self.chains = np.arange(clients)

    def present(self, round: int, rng: np.random.Generator) -> Presence:
        return np.ones(len(self.active), np.bool_)


def simulate(availability: Availability, rounds: int, seed: int = 0) -> Presence:
    """Who is there in rounds 0, 1, ... of a run with this seed: one row per round, one column per client.

    >>> simulate(availability_registry.make("always", clients=3), rounds=2).shape
    (2, 3)
    """
    trace = np.zeros((rounds, len(availability.active)), np.bool_)
    for round in range(rounds):
        trace[round] = availability.present(round, generator(seed, "availability", round))
    return trace
