"""Directed ring overlay (Marfoq, Xu, Neglia, Vidal, Throughput-Optimal Topology Design for Cross-Silo
Federated Learning, 2020).

On a ring everyone sends one model and receives one, so that delays do not depend on the ring, and its cycle
time is their mean: the best ring is the shortest tour. On Euclidean networks, Christofides' tour is at most
3N times slower than the best overlay of any kind.
"""

from __future__ import annotations

import numpy as np

from ...core.random import generator
from ...errors import ConfigError
from ...typing import Int64s
from ..delays import both_ways, single_delays
from ..overlay import Overlay, designer_registry
from ..underlays.connectivity import Connectivity
from .tsp import EXACT_MATCHING, christofides, shorten


@designer_registry.add("ring")
def ring(improve: str = "auto", *, connectivity: Connectivity) -> Overlay:
    """A directed ring along Christofides' tour; `ring:improved` also moves segments, `ring:plain` never does
    (the default does above 240 silos, where the tour's matching is not exact)."""
    if improve not in ("auto", "improved", "plain"):
        raise ConfigError(f"designer 'ring' is 'plain', 'improved' or 'auto', not {improve!r}.")
    weights = both_ways(single_delays(connectivity))
    there = np.isfinite(weights)
    weights = np.where(there, weights, np.where(there, weights, 0).sum())  # never worth it if avoidable
    tour = christofides(weights)
    if improve == "improved" or (improve == "auto" and len(tour) > 2 * EXACT_MATCHING):
        tour = shorten(tour, weights)
    return faster_direction(tour, connectivity, "ring")


@designer_registry.add("random-ring")
def random_ring(*, connectivity: Connectivity, seed: int = 0) -> Overlay:
    """A directed ring in random order."""
    tour = generator(seed, "random ring").permutation(len(connectivity))
    return faster_direction(tour, connectivity, "random-ring")


def ring_of(tour: Int64s, name: str = "ring") -> Overlay:
    """The overlay in which everyone sends to the next of a tour.

    >>> ring_of(np.array([0, 2, 1])).arcs.astype(int).tolist()
    [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    """
    arcs = np.zeros((len(tour), len(tour)), bool)
    arcs[tour, np.roll(tour, -1)] = len(tour) > 1
    return Overlay(arcs, name)


def faster_direction(tour: Int64s, connectivity: Connectivity, name: str) -> Overlay:
    """The ring along a tour, in the direction with the shorter round; a `ConfigError` where neither can be
    used."""
    both = [ring_of(tour, name), ring_of(tour[::-1], name)]
    usable = [one for one in both if not (one.arcs & ~connectivity.possible).any()]
    if not usable:
        i, j = (connectivity.names[k] for k in np.argwhere(both[0].arcs & ~connectivity.possible)[0])
        raise ConfigError(
            f"no ring was found, because {i!r} cannot send to {j!r}, among others; try 'delta-mbst', 'mst' "
            "or 'search'."
        )
    return min(usable, key=lambda one: one.cycle_time(connectivity))
