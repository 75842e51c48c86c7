"""Minimum bottleneck spanning tree with bounded degrees (delta-MBST) overlay (Marfoq, Xu, Neglia, Vidal,
Throughput-Optimal Topology Design for Cross-Silo Federated Learning, 2020).

Where access links are slow, silos of high degree are slow, and so the best is taken of

    the minimum spanning tree,
    a path through its cube (degree 2), and
    Prim's trees with degrees of at most delta = 2, 3, ..., up to that of the unlimited tree,

which on Euclidean networks with slow uplinks is at most six times slower than the best undirected overlay.
"""

from __future__ import annotations

import numpy as np

from ...errors import ConfigError
from ...typing import Int64s
from ..delays import both_ways, single_delays
from ..overlay import Overlay, designer_registry
from ..underlays.connectivity import Connectivity
from .spanning_trees import cube_path, minimum_spanning_tree, prim, to_undirected


@designer_registry.add("delta-mbst")
def delta_mbst(candidates: str = "all", *, connectivity: Connectivity) -> Overlay:
    """The best of trees with limited degrees, for slow access links; `delta-mbst:prim` leaves the path
    through the cube out."""
    if candidates not in ("all", "prim"):
        raise ConfigError(f"designer 'delta-mbst' tries 'all' trees or those of 'prim', not {candidates!r}.")
    weights, size = both_ways(single_delays(connectivity)), len(connectivity)
    trees = {"minimum spanning tree": minimum_spanning_tree(weights)}
    if candidates == "all":
        trees |= _path_of_cube(trees["minimum spanning tree"], connectivity)
    widest = int(np.bincount(prim(weights).ravel()).max()) if size > 2 else 2
    trees |= {f"degree at most {delta}": prim(weights, delta) for delta in range(2, widest + 1)}
    spanning = [
        Overlay(to_undirected(edges, size), "delta-mbst", words)
        for words, edges in trees.items()
        if len(edges) == size - 1
    ]
    return min(spanning, key=lambda tree: tree.cycle_time(connectivity))


def _path_of_cube(tree: Int64s, connectivity: Connectivity) -> dict[str, Int64s]:
    """The path through the cube, if all its steps can be taken."""
    path = np.array(cube_path(tree, len(connectivity)))
    edges = np.stack([path[:-1], path[1:]], axis=1)
    possible = connectivity.possible & connectivity.possible.T
    return {"path": edges} if possible[edges[:, 0], edges[:, 1]].all() else {}
