"""Communication graphs of clients without a server.

A graph is a symmetric table of booleans: `graph[s, t]` says that clients s and t exchange messages. Nobody is
its own neighbor. Messages only spread everywhere if the graph is connected, so every maker checks that.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ..core.random import generator
from ..core.registry import Registry
from ..errors import ConfigError
from ..typing import Bools, Int64s

Graph = Bools
graph_registry: Registry[Graph] = Registry("graph", "graphs")
DRAWS = 100
"""How often a random graph is drawn anew until it is connected."""


@graph_registry.add("ring")
def ring(*, clients: int) -> Graph:
    """Everyone has two neighbors, on a circle."""
    return check_graph(np.roll(np.eye(_some(clients), dtype=bool), 1, axis=1))


@graph_registry.add("path")
def path(*, clients: int) -> Graph:
    """Clients stand in a line."""
    return check_graph(np.eye(_some(clients), k=1, dtype=bool))


@graph_registry.add("complete")
def complete(*, clients: int) -> Graph:
    """Everyone hears everyone."""
    return check_graph(np.ones((_some(clients), clients), bool))


@graph_registry.add("star")
def star(*, clients: int) -> Graph:
    """Everyone hears the first client alone."""
    adjacency = np.zeros((_some(clients), clients), bool)
    adjacency[0] = True
    return check_graph(adjacency)


@graph_registry.add("grid")
def grid(*, clients: int) -> Graph:
    """A rectangle, as square as the number of clients allows; a prime number of clients is a line."""
    width = next(w for w in range(math.isqrt(_some(clients)), 0, -1) if clients % w == 0)
    row, column = np.divmod(np.arange(clients), width)
    steps = np.abs(row[:, None] - row) + np.abs(column[:, None] - column)
    return check_graph(steps == 1)


@graph_registry.add("erdos-renyi")
def erdos_renyi(chance: float = 0.5, *, clients: int, seed: int = 0) -> Graph:
    """Each pair is joined with the same chance; `erdos-renyi:0.2`. Drawn anew until it is connected."""
    if not 0 < chance <= 1:
        raise ConfigError(f"graph 'erdos-renyi:{chance}' needs a chance above 0 and at most 1.")
    for draw in range(DRAWS):
        joined = generator(seed, "erdos-renyi", draw).random((_some(clients), clients)) < chance
        adjacency = _both_ways(np.triu(joined, 1))
        if unreachable(adjacency) is None:
            return adjacency
    raise ConfigError(
        f"no connected graph of {clients} clients came out of {DRAWS} draws of 'erdos-renyi:{chance}'; "
        f"a chance above {math.log(clients) / clients:.2g} makes one likely."
    )


def graph_of(given: str | ArrayLike, clients: int, seed: int = 0) -> Graph:
    """A graph by name (`ring`, `erdos-renyi:0.5`), or from a table whose entries other than 0 join clients.

    >>> graph_of("path", 3).astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    if isinstance(given, str):
        return graph_registry.make(given, clients=clients, seed=seed)
    table = np.asarray(given)
    if table.shape != (clients, clients):
        raise ConfigError(
            f"a graph of {clients} clients is a table of that size, not of shape {table.shape}."
        )
    if (lonely := np.argwhere((table != 0) & (table.T == 0))).size:
        s, t = lonely[0]
        raise ConfigError(f"client {s} hears client {t} but not the other way round; a graph is symmetric.")
    return check_graph(table != 0)


def check_graph(adjacency: Graph) -> Graph:
    """The graph without loops and in both directions; a `ConfigError` where it is not connected."""
    graph = _both_ways(adjacency)
    alone = unreachable(graph)
    if alone is not None:
        raise ConfigError(f"the graph is not connected: client {alone} cannot be reached from client 0.")
    return graph


def unreachable(graph: Graph) -> int | None:
    """A client that cannot be reached from the first one, or None if the graph is connected.

    >>> unreachable(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], bool))
    2
    """
    reached, before = np.arange(len(graph)) == 0, 0
    while reached.sum() > before:
        before, reached = reached.sum(), reached | graph[reached].any(axis=0)
    return None if reached.all() else int(np.argmin(reached))


def degrees(graph: Graph) -> Int64s:
    """How many neighbors every client has."""
    return graph.sum(axis=1)


def _both_ways(adjacency: Graph) -> Graph:
    return (adjacency | adjacency.T) & ~np.eye(len(adjacency), dtype=bool)


def _some(clients: int) -> int:
    if clients < 2:
        raise ConfigError(f"a graph needs at least 2 clients, but there are {clients}.")
    return clients
