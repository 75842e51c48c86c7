"""Populations of intermittent clients that experiments use.

Those of Rodio, Faticanti, Marfoq, Neglia and Leonardi ("Federated Learning under Heterogeneous and Correlated
Client Availability", 2023): half of the clients are there often (1/2 + gap), half rarely (1/2 - gap); some
stay for long (lambda = correlation), the others come and go almost independently, lambda ~ N(0, noise^2). In
the last population, clusters of clients come and go together.
"""

from __future__ import annotations

import numpy as np

from ...core.random import generator
from ...errors import ConfigError
from ...typing import ClientIds
from .base import availability_registry
from .markov import Markov

THREE = ("more available", "less available", "less available, correlated")
FOUR = ("more available", "more available, correlated", "less available", "less available, correlated")


@availability_registry.add("groups")
def groups(
    gap: float = 0.4, correlation: float = 0.9, noise: float = 0.01, *, clients: int, seed: int = 0
) -> Markov:
    """Half the clients often there, a quarter rarely, a quarter rarely but for long (1/2 +- `gap`)."""
    group = np.searchsorted([0.5, 0.75], np.arange(clients) / clients, side="right")
    return _population(group, THREE, gap, correlation, noise, seed)


@availability_registry.add("four-groups")
def four_groups(
    gap: float = 0.4, correlation: float = 0.9, noise: float = 0.01, *, clients: int, seed: int = 0
) -> Markov:
    """A quarter each: often or rarely there (1/2 plus or minus `gap`), for short or for long."""
    group = np.searchsorted([0.25, 0.5, 0.75], np.arange(clients) / clients, side="right")
    return _population(group, FOUR, gap, correlation, noise, seed)


@availability_registry.add("clusters")
def clusters(count: int = 10, *, clients: int) -> Markov:
    """Clusters that come and go together: half of them often there, the others rarely, and ever stickier."""
    if not (float(count).is_integer() and 1 <= count <= clients):
        raise ConfigError(
            f"the number of clusters must be between 1 and the number of clients ({clients}), but is {count}."
        )
    cluster = np.arange(clients) * int(count) // clients
    often = cluster < count / 2
    names = tuple(f"cluster {number}" for number in range(int(count)))
    return Markov(
        np.where(often, 0.9, 0.1), np.where(often, 0.0, cluster / count), cluster, group_names=names
    )


def _population(
    group: ClientIds, names: tuple[str, ...], gap: float, correlation: float, noise: float, seed: int
) -> Markov:
    if not 0 <= gap < 0.5:
        raise ConfigError(f"gap must be at least 0 and below 0.5, but is {gap}.")
    if not noise >= 0:
        raise ConfigError(f"noise must not be negative, but is {noise}.")
    often = np.array([name.startswith("more") for name in names])[group]
    lasting = np.array([name.endswith("correlated") for name in names])[group]
    weak = generator(seed, "weak correlation").normal(0.0, noise, len(group))
    active = np.where(often, 0.5 + gap, 0.5 - gap)
    return Markov(active, np.where(lasting, correlation, weak), group, together=False, group_names=names)
