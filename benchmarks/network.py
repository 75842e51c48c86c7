"""Do cycle times and rings of thousands of silos take seconds?

Random maps from 10 to 2,000 silos. The cycle time of a ring with a spanning tree on top (a digraph with many
circuits) is computed by policy iteration, and the ring is designed from Christofides' tour. Next to each is a
plain version, as one would write it with NetworkX: Karp's formula over dictionaries, and
`networkx.christofides`. Plain versions stop where they take too long. Figures of interest are ratios and
growth, not seconds.

    python benchmarks/network.py [--silos 10 50 ...] [--plain-up-to N] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import networkx as nx
import numpy as np

from unalike.topology import Connectivity, Overlay, connect, critical_circuit, design
from unalike.topology.delays import both_ways, overlay_delays, single_delays

T = TypeVar("T")
SILOS = (10, 50, 100, 200, 500, 1000, 2000)


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """The result, and the seconds it took."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def plain_cycle_time(graph: nx.DiGraph) -> float:
    """Karp's formula, arc by arc."""
    size = graph.number_of_nodes()
    longest = [{0: 0.0}]
    for _ in range(size):
        after: dict[int, float] = {}
        for u, before in longest[-1].items():
            for v, data in graph[u].items():
                after[v] = max(after.get(v, -math.inf), before + data["weight"])
        longest.append(after)
    return max(
        min((last - longest[k][v]) / (size - k) for k in range(size) if v in longest[k])
        for v, last in longest[size].items()
    )


def plain_ring(weights: np.ndarray) -> float:
    """The mean delay along NetworkX's tour."""
    graph = nx.Graph()
    size = len(weights)
    graph.add_weighted_edges_from((i, j, weights[i, j]) for i in range(size) for j in range(i))
    tour = nx.approximation.christofides(graph)
    return float(sum(weights[a, b] for a, b in pairwise(tour))) / size


def dense_overlay(network: Connectivity) -> Overlay:
    """A ring and a tree together."""
    ring, tree = design("random-ring", network), design("mst", network)
    assert isinstance(ring, Overlay)
    assert isinstance(tree, Overlay)
    return Overlay(ring.arcs | tree.arcs, "ring and tree")


def measure(silos: int, plain_up_to: int) -> dict[str, Any]:
    """One row of the table."""
    network, mapping = timed(lambda: connect(f"geometric:{silos}", access=1e9))
    delays = overlay_delays(network, dense_overlay(network).arcs)
    circuit, cycle_seconds = timed(lambda: critical_circuit(delays))
    ring, ring_seconds = timed(lambda: design("ring", network))
    row = {
        "silos": silos,
        "map s": mapping,
        "cycle time s": cycle_seconds,
        "ring s": ring_seconds,
        "ring ms": ring.cycle_time(network),
    }
    if silos <= plain_up_to:
        row |= compare(delays, circuit.mean, cycle_seconds, network, ring_seconds, row["ring ms"])
    return row


def compare(
    delays: np.ndarray,
    mean: float,
    cycle_seconds: float,
    network: Connectivity,
    ring_seconds: float,
    ring_ms: float,
) -> dict[str, Any]:
    """How much longer plain versions take, and whether they agree."""
    graph = nx.DiGraph()
    arcs = np.argwhere(np.isfinite(delays)).tolist()
    graph.add_weighted_edges_from((i, j, delays[i, j]) for i, j in arcs)
    plain, plain_seconds = timed(lambda: plain_cycle_time(graph))
    assert math.isclose(plain, mean, rel_tol=1e-9), (plain, mean)
    tour, tour_seconds = timed(lambda: plain_ring(both_ways(single_delays(network))))
    return {
        "cycle time, times faster": plain_seconds / cycle_seconds,
        "ring, times faster": tour_seconds / ring_seconds,
        "ring, shorter by %": 100 * (tour / ring_ms - 1),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--silos", type=int, nargs="+", default=SILOS)
    parser.add_argument("--plain-up-to", type=int, default=200, help="silos of the plain versions")
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    chosen = parser.parse_args()
    measure(10, 10)  # what is loaded at first use is not measured
    rows = []
    for silos in chosen.silos:
        rows.append(measure(silos, chosen.plain_up_to))
        print({name: round(value, 4) for name, value in rows[-1].items()}, flush=True)
    if chosen.out:
        chosen.out.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
