"""Minimum spanning tree (MST) overlay (Marfoq, Xu, Neglia, Vidal, Throughput-Optimal Topology Design for
Cross-Silo Federated Learning, 2020).

Where access links are fast, the minimum spanning tree of mean delays is the best of all undirected overlays.
Where they are slow, silos of high degree are slow: see `delta_mbst.py`.
"""

from __future__ import annotations

from ..delays import both_ways, design_delays
from ..overlay import Overlay, designer_registry
from ..underlays.connectivity import Connectivity
from .spanning_trees import minimum_spanning_tree, to_undirected


@designer_registry.add("mst")
def mst(*, connectivity: Connectivity) -> Overlay:
    """The minimum spanning tree of mean delays without access links, in both directions."""
    return Overlay(
        to_undirected(minimum_spanning_tree(both_ways(design_delays(connectivity))), len(connectivity)), "mst"
    )
