from .bounds import lower_bound
from .certification import Certificate, certify
from .column_stochastic import pushing
from .cycle_time import Circuit, critical_circuit
from .gossip import Gossip
from .graphs import Graph, check_graph, degrees, graph_of, graph_registry, unreachable
from .mixing import (
    check_mixing,
    consensus_distance,
    contraction,
    disagreement,
    expected_contraction,
    mixing_of,
    mixing_registry,
    reaches_everyone,
)
from .network_timing import OnNetwork
from .overlay import Design, Overlay, design, designer_registry, overlay_of
from .overlays.matcha import Matcha
from .overlays.mst import mst
from .overlays.ring import ring_of
from .overlays.search import search, search_certified
from .overlays.star import star
from .underlays.base import Underlay, underlay_of, underlay_registry
from .underlays.connectivity import GIGABIT, Connectivity, connect
from .underlays.maps import great_circle_km
from .underlays.measurements import euclidean_violation, read_measurements
from .underlays.workloads import Workload, workload_of, workload_registry

__all__ = [
    "GIGABIT",
    "Certificate",
    "Circuit",
    "Connectivity",
    "Design",
    "Gossip",
    "Graph",
    "Matcha",
    "OnNetwork",
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
    "designer_registry",
    "disagreement",
    "euclidean_violation",
    "expected_contraction",
    "graph_of",
    "graph_registry",
    "great_circle_km",
    "lower_bound",
    "mixing_of",
    "mixing_registry",
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
    "underlay_registry",
    "unreachable",
    "workload_of",
    "workload_registry",
]
