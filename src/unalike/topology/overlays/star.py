"""The star overlay: one silo serves all others.

round  =  max over silos i of  (hub -> i) + s T_c(i) + (i -> hub),        all transfers of the hub at once.
"""

from __future__ import annotations

import lazy_loader as lazy
import numpy as np

from ...errors import ConfigError
from ..overlay import Overlay, designer_registry, star_rounds
from ..underlays.connectivity import Connectivity

nx = lazy.load("networkx")  # slow to import, and every run imports this module


@designer_registry.add("star")
def star(hub: str = "best", *, connectivity: Connectivity) -> Overlay:
    """A server and its clients; the hub is the `best`, the `first`, that of largest `load-centrality` on the
    map, or a silo by name.

    >>> from unalike.topology import connect
    >>> star("best", connectivity=connect("gaia")).notes
    'hub: Oregon'
    """
    number, why = _hub(str(hub), connectivity)
    possible = connectivity.possible
    lost = np.flatnonzero(~(possible[number] & possible[:, number]) & (np.arange(len(possible)) != number))
    if len(lost):
        other = connectivity.names[lost[0]]
        raise ConfigError(f"no star: {connectivity.names[number]!r} and {other!r} cannot talk both ways.")
    arcs = np.zeros(possible.shape, bool)
    arcs[number] = arcs[:, number] = True
    arcs[number, number] = False
    return Overlay(arcs, "star", f"hub: {connectivity.names[number]}{why}", hub=number)


def _hub(hub: str, connectivity: Connectivity) -> tuple[int, str]:
    if hub in connectivity.names:
        return connectivity.names.index(hub), ""
    if hub == "first":
        return 0, ""
    if hub == "best":
        return int(np.argmin(star_rounds(connectivity).max(axis=0))), ""
    if hub == "load-centrality":
        return _most_loaded(connectivity)
    raise ConfigError(f"a hub is 'best', 'first', 'load-centrality' or the name of a silo, not {hub!r}.")


def _most_loaded(connectivity: Connectivity) -> tuple[int, str]:
    """The silo that most shortest paths of the map pass; the first one where none passes any."""
    links = connectivity.possible if connectivity.links is None else connectivity.links
    graph = nx.Graph()
    graph.add_nodes_from(range(len(connectivity)))
    ends = np.argwhere(np.triu(links | links.T, 1))
    graph.add_weighted_edges_from((i, j, connectivity.latency[i, j]) for i, j in ends.tolist())
    load = nx.load_centrality(graph, weight="weight")
    loads = np.array([load[i] for i in range(len(connectivity))])
    return int(np.argmax(loads)), " (no path passes another silo)" if loads.max() == 0 else ""
