"""Markov availability: clients with correlated availability.

Every client is a chain of two states (see :mod:`.chain`) that starts in its stationary law and takes one step
per round. Clients of a cluster may share one chain: they come and go together.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Array, ClientIds, Float64s
from .base import Availability, Presence, availability_registry
from .chain import feasible


class Markov(Availability):
    """Two-state chains, one per client, or one per group of clients that come and go together.

    With `together=False` groups are only names for reports, and every client has a chain of its own.

    >>> there = Markov(0.5, 0.9, groups=[0, 0, 1, 1]).present(0, np.random.default_rng(0))
    >>> bool(there[0] == there[1]), bool(there[2] == there[3])
    (True, True)
    """

    def __init__(
        self,
        active: ArrayLike,
        correlation: ArrayLike,
        groups: ArrayLike | None = None,
        together: bool = True,
        group_names: tuple[str, ...] = (),
        clients: int | None = None,
    ) -> None:
        self.groups = None if groups is None else _check_groups(groups)
        if clients is None and self.groups is not None:
            clients = len(self.groups)
        self.active, self.correlation = _per_client(*feasible(active, correlation), clients)
        self.group_names = group_names or _group_names(self.groups)
        shared = self.groups if together else None
        self._first, self.chains = _chains(self.active, self.correlation, shared)
        self._arrive = ((1 - self.correlation) * self.active)[self._first]
        self._stay = self.correlation[self._first] + self._arrive
        self._there: Presence | None = None

    def present(self, round: int, rng: np.random.Generator) -> Presence:
        if round == 0 or self._there is None:
            chance = self.active[self._first]
        else:
            chance = np.where(self._there, self._stay, self._arrive)
        self._there = rng.random(len(chance)) < chance
        return self._there[self.chains]

    def state(self) -> dict[str, Array]:
        return {} if self._there is None else {"there": self._there.copy()}

    def restore(self, state: Mapping[str, Array]) -> None:
        there = state.get("there")
        if there is not None and there.shape != self._first.shape:
            raise ConfigError(
                f"the saved availability has {there.size} chains, but this one has {len(self._first)}."
            )
        self._there = None if there is None else there.astype(np.bool_)


@availability_registry.add("markov")
def markov(active: float = 0.5, correlation: float = 0.9, *, clients: int) -> Markov:
    """Clients alike: there in a share `active` of the rounds, each with this `correlation` to the next."""
    return Markov(active, correlation, clients=clients)


def _per_client(active: Float64s, correlation: Float64s, clients: int | None) -> tuple[Float64s, Float64s]:
    if clients is None and not active.ndim:
        raise ConfigError("active and correlation are single numbers; say for how many clients.")
    shape = active.shape if clients is None else (clients,)
    if active.ndim > 1 or active.shape not in ((), shape) or not shape[0]:
        raise ConfigError(
            f"active and correlation need one number per client, but have shape {active.shape} for "
            f"{clients or 'unknown'} clients."
        )
    return np.broadcast_to(active, shape).copy(), np.broadcast_to(correlation, shape).copy()


def _check_groups(groups: ArrayLike) -> ClientIds:
    given = np.asarray(groups)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given) or given.min() < 0:
        raise ConfigError("groups must be one whole number from 0 on per client.")
    return given.astype(np.int64)


def _group_names(groups: ClientIds | None) -> tuple[str, ...]:
    return () if groups is None else tuple(f"group {number}" for number in range(groups.max() + 1))


def _chains(active: Float64s, correlation: Float64s, groups: ClientIds | None) -> tuple[ClientIds, ClientIds]:
    """A client that stands for each chain, and the chain of each client."""
    if groups is None:
        alone = np.arange(len(active))
        return alone, alone
    _, first, chain = np.unique(groups, return_index=True, return_inverse=True)
    for name, values in (("active", active), ("correlation", correlation)):
        odd = np.flatnonzero(values != values[first][chain])
        if len(odd):
            raise ConfigError(
                f"clients of a group come and go together, so they need the same {name}, but group "
                f"{groups[odd[0]]} has {values[first[chain[odd[0]]]]:g} and, for client {odd[0]}, "
                f"{values[odd[0]]:g}."
            )
    return first, chain
