"""Who hears whom: graphs of clients, and the weights with which neighbours average."""

from .graphs import Graph, check_graph, degrees, graph_of, graphs, unreachable
from .mixing import (
    check_mixing,
    consensus_distance,
    contraction,
    disagreement,
    expected_contraction,
    mixing_of,
    mixings,
    reaches_everyone,
)

__all__ = [
    "Graph",
    "check_graph",
    "check_mixing",
    "consensus_distance",
    "contraction",
    "degrees",
    "disagreement",
    "expected_contraction",
    "graph_of",
    "graphs",
    "mixing_of",
    "mixings",
    "reaches_everyone",
    "unreachable",
]
