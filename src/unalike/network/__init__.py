"""Who hears whom: maps, delays and cycle times, overlays and their designers, and weights of neighbours."""

from .bounds import lower_bound
from .certify import Certificate, certify
from .connectivity import GIGABIT, Connectivity, connect
from .cycle_time import Circuit, critical_circuit
from .graphs import Graph, check_graph, degrees, graph_of, graphs, unreachable
from .maps import great_circle_km
from .matcha import Matcha
from .measurements import euclidean_violation, read_measurements
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
from .overlay import Design, Overlay, design, designers, overlay_of
from .pushing import pushing
from .ring import ring_of
from .search import search, search_certified
from .star import star
from .trees import mst
from .underlay import Underlay, underlay_of, underlays
from .workloads import Workload, workload_of, workloads

__all__ = [
    "GIGABIT",
    "Certificate",
    "Circuit",
    "Connectivity",
    "Design",
    "Graph",
    "Matcha",
    "Overlay",
    "Underlay",
    "Workload",
    "certify",
    "check_graph",
    "check_mixing",
    "connect",
    "consensus_distance",
    "contraction",
    "critical_circuit",
    "degrees",
    "design",
    "designers",
    "disagreement",
    "euclidean_violation",
    "expected_contraction",
    "graph_of",
    "graphs",
    "great_circle_km",
    "lower_bound",
    "mixing_of",
    "mixings",
    "mst",
    "overlay_of",
    "pushing",
    "reaches_everyone",
    "read_measurements",
    "ring_of",
    "search",
    "search_certified",
    "star",
    "underlay_of",
    "underlays",
    "unreachable",
    "workload_of",
    "workloads",
]
