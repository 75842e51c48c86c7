"""Claims on cycle times that need no map.

Marfoq, Xu, Neglia and Vidal, "Throughput-Optimal Topology Design for Cross-Silo Federated Learning" (2020):
worked examples, agreement of four ways to compute a cycle time, what is proved of designers, against brute
force, and properties of averaging weights and matchings.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import networkx as nx
import numpy as np

from unalike.topology.cycle_time import critical_circuit, howard, karp, start_times
from unalike.topology.delays import both_ways, design_delays, overlay_delays
from unalike.topology.overlay import Overlay, design
from unalike.topology.overlays.matcha import Matcha
from unalike.topology.strong_connectivity import is_strong
from unalike.topology.underlays.connectivity import Connectivity, connect
from unalike.typing import Bools, Float64s, Int64s

from ..study import Claim, at_least, at_most, matches

NO_ARC = -np.inf


def theory_claims(quick: bool) -> Iterator[Claim]:
    """T1, T2, T13, T14, T15 and T17."""
    yield from example_claims()
    yield from agreement_claims(quick)
    yield from tree_claims(quick)
    yield from guarantee_claims(quick)
    yield from mixing_claims()
    yield from matching_claims(quick)


def table(size: int, arcs: dict[tuple[int, int], float]) -> Float64s:
    """Delays of given arcs, and loops of no delay."""
    delays = np.full((size, size), NO_ARC)
    np.fill_diagonal(delays, 0.0)
    for (i, j), delay in arcs.items():
        delays[i, j] = delay
    return delays


def both(arcs: dict[tuple[int, int], float]) -> dict[tuple[int, int], float]:
    """The same delays in both directions."""
    return arcs | {(j, i): delay for (i, j), delay in arcs.items()}


def example_claims() -> Iterator[Claim]:
    """Three worked examples."""
    path = critical_circuit(table(3, both({(0, 1): 1, (1, 2): 3}))).mean
    yield matches("T1", "three silos, best undirected overlay", path, 3, 0, place="equation (2.6)")
    ring = critical_circuit(table(3, {(0, 1): 1, (1, 2): 3, (2, 0): 4})).mean
    yield matches("T1", "three silos, directed ring", ring, 8 / 3, 1e-15, place="equation (2.7)")
    for n in (5, 50):
        links = {(i, i + 1): 1.0 for i in range(n - 1)} | {(n - 1, n): float(n)}
        chain = critical_circuit(table(n + 1, both(links))).mean
        claim = f"chain of {n} and one far silo, undirected"
        yield matches("T1", claim, chain, n, 0, place="equation (2.8)")
        round_trip = critical_circuit(table(n + 1, links | {(n, 0): 2.0 * n - 1})).mean
        claim, printed = f"the same, {n}, directed ring", (4 * n - 2) / (n + 1)
        yield matches("T1", claim, round_trip, printed, 1e-12, place="equation (2.9)")
    for n in (4, 16, 64):
        shared = {(i, i + 1): 0.0 for i in range(n - 1)}
        shared |= {arc: 1.0 for k in range(n, 2 * n) for arc in ((n - 1, k), (k, 0))}
        best = critical_circuit(table(2 * n, shared)).mean
        yield matches(
            "T1",
            f"two halves of {n}: ring over the overlay that shares a path",
            0.5 / best,
            (n + 1) / 4,
            1e-9,
            note="Example 2 prints (N + 2) / 4, which counts an arc too many",
            derivation="(N + 1) / 4",
        )


def agreement_claims(quick: bool) -> Iterator[Claim]:
    """Policy iteration, Karp's formula, shortcuts and the simulated slope."""
    rng = np.random.default_rng(1)
    formulas, slopes = [], []
    for _ in range(20 if quick else 100):
        size = int(rng.integers(3, 15))
        arcs = random_overlay(size, rng)
        delays = np.where(arcs | np.eye(size, dtype=bool), rng.random((size, size)), NO_ARC)
        mean = critical_circuit(delays).mean
        formulas += [abs(howard(delays).mean - mean), abs(karp(delays) - mean)]
        times = start_times(delays, 2000)
        slopes.append(float(np.abs((times[-1] - times[1000]) / 1000 - mean).max() / mean))
    yield at_most("T2", "policy iteration and Karp's formula differ by", [max(formulas)], 1e-9)
    yield at_most("T2", "relative gap of the simulated slope after 2,000 rounds", [max(slopes)], 1e-3)


def random_overlay(size: int, rng: np.random.Generator) -> Bools:
    """A ring, a tree, or any strongly connected digraph."""
    order = rng.permutation(size)
    arcs = np.zeros((size, size), bool)
    kind = rng.integers(3)
    if kind == 1:
        parents = [int(rng.integers(i)) for i in range(1, size)]
        arcs[order[1:], order[parents]] = True
        return arcs | arcs.T
    arcs[order, np.roll(order, -1)] = True
    if kind == 2:
        arcs |= rng.random((size, size)) < 0.2
    np.fill_diagonal(arcs, False)
    return arcs


def all_trees(size: int) -> Int64s:
    """The edges of every labeled tree, (size^(size - 2), size - 1, 2)."""
    codes = product(range(size), repeat=size - 2)
    return np.array([sorted(nx.from_prufer_sequence(code).edges) for code in codes])


def tree_claims(quick: bool) -> Iterator[Claim]:
    """The minimum spanning tree is the best undirected overlay where access links are fast."""
    size = 6 if quick else 7
    trees, beaten, helped = all_trees(size), 0, 0
    rng = np.random.default_rng(2)
    for seed in range(10 if quick else 30):
        network = connect(f"mesh:{size},8000", "sub-inaturalist", access=np.inf, seed=seed)
        network = _uneven_speeds(network, rng)
        found = design("mst", network)
        assert isinstance(found, Overlay)
        mine = found.cycle_time(network)
        weights = both_ways(design_delays(network))
        best = max(
            float(weights[trees[..., 0], trees[..., 1]].max(axis=1).min()), float(network.compute.max())
        )
        beaten += mine > best + 1e-9
        more = found.arcs.copy()
        i, j = rng.choice(size, 2, replace=False)
        more[i, j] = more[j, i] = True
        helped += Overlay(more).cycle_time(network) < mine - 1e-9
    yield at_most("T13", f"networks of {size} on which some of all {len(trees)} trees is faster", [beaten], 0)
    yield at_most("T13", "networks on which one more edge helps", [helped], 0)


def _uneven_speeds(network: Connectivity, rng: np.random.Generator) -> Connectivity:
    """Silos that compute at different speeds."""
    return Connectivity(
        network.names,
        network.latency,
        network.bandwidth,
        network.uplink,
        network.downlink,
        rng.uniform(5, 50, len(network)),
        network.bits,
        network.local_steps,
    )


def guarantee_claims(quick: bool) -> Iterator[Claim]:
    """Guarantees on Euclidean networks, against brute force."""
    trees, ratios = all_trees(6), []
    for seed in range(6 if quick else 60):
        network = connect("mesh:6,8000", core=np.inf, access=2e8, seed=seed)
        network = Connectivity(
            network.names,
            network.latency,
            network.bandwidth,
            network.uplink,
            np.full(6, np.inf),
            network.compute,
            network.bits,
        )
        best = min(tree_time(network, edges) for edges in trees)
        ratios.append(design("delta-mbst", network).cycle_time(network) / best)
    yield at_most(
        "T14", "delta-MBST over the best undirected overlay, 6 silos, slow uplinks", [max(ratios)], 6
    )
    ratios = []
    for seed in range(3 if quick else 25):
        network = connect("mesh:4,8000", access=2e8 if seed % 2 else 1e10, seed=seed)
        best = fastest_digraph(network)
        ratios.append(design("ring", network).cycle_time(network) / best)
    yield at_most("T14", "RING over the best of all digraphs, 4 silos", [max(ratios)], 12)


def tree_time(network: Connectivity, edges: Int64s) -> float:
    """The cycle time of a tree: its slowest edge, there and back."""
    arcs = np.zeros((len(network), len(network)), bool)
    arcs[edges[:, 0], edges[:, 1]] = arcs[edges[:, 1], edges[:, 0]] = True
    delays = overlay_delays(network, arcs)
    pairs = np.where(arcs, (delays + delays.T) / 2, NO_ARC)
    return max(float(pairs.max()), float(np.diag(delays).max()))


def fastest_digraph(network: Connectivity) -> float:
    """The least cycle time over all strongly connected digraphs."""
    size = len(network)
    places = np.argwhere(~np.eye(size, dtype=bool))
    best = np.inf
    for bits in range(1 << len(places)):
        used = places[[bool(bits >> k & 1) for k in range(len(places))]]
        arcs = np.zeros((size, size), bool)
        arcs[used[:, 0], used[:, 1]] = True
        if arcs.any(axis=0).all() and arcs.any(axis=1).all() and is_strong(arcs):
            best = min(best, critical_circuit(overlay_delays(network, arcs)).mean)
    return best


def mixing_claims() -> Iterator[Claim]:
    """Averaging weights keep the mean and bring models together."""
    network = connect("gaia")
    for name in ("star", "mst", "delta-mbst", "ring", "complete", "search:300"):
        weights = design(name, network).mixing()
        sums = max(np.abs(weights.sum(axis=0) - 1).max(), np.abs(weights.sum(axis=1) - 1).max())
        yield at_most("T15", f"{name}: rows and columns sum to one, gap", [float(sums)], 1e-12)
        yield at_least("T15", f"{name}: least weight", [float(weights.min())], 0)
        second = float(np.linalg.svd(weights - 1 / len(weights), compute_uv=False)[0])
        yield at_most("T15", f"{name}: second singular value", [second], 1 - 1e-6)
    random = design("matcha", network)
    drawn = np.array([random.mixing(k) for k in range(200)])
    gaps = np.abs(drawn.sum(axis=1) - 1).max(), np.abs(drawn.sum(axis=2) - 1).max()
    yield at_most("T15", "matcha: rows and columns sum to one, gap", [float(max(gaps))], 1e-12)
    square = np.einsum("kij,kil->jl", drawn, drawn) / len(drawn) - 1 / len(network)
    yield at_most("T15", "matcha: mean square contraction", [float(np.linalg.norm(square, 2))], 1 - 1e-6)
    yield at_least(
        "T15",
        "matcha: least weight",
        [float(drawn.min())],
        0,
        hard=False,
        note="alpha times a silo's active pairs may exceed one, and then it gives away more than it has",
    )


def matching_claims(quick: bool) -> Iterator[Claim]:
    """Matchings of random graphs, and how often they are active."""
    rng = np.random.default_rng(5)
    faults = 0
    for _ in range(20 if quick else 100):
        size = int(rng.integers(3, 25))
        graph = random_overlay(size, rng) | (rng.random((size, size)) < rng.random())
        graph = (graph | graph.T) & ~np.eye(size, dtype=bool)
        pairs = Matcha(graph).pairs
        disjoint = all(len(np.unique(one)) == 2 * len(one) for one in pairs)
        covered = np.zeros_like(graph)
        for one in pairs:
            covered[one[:, 0], one[:, 1]] = covered[one[:, 1], one[:, 0]] = True
        fine = disjoint and (covered == graph).all() and sum(map(len, pairs)) == graph.sum() / 2
        faults += not (fine and len(pairs) <= graph.sum(axis=1).max() + 1)
    yield at_most(
        "T17", "graphs not split into at most (degree + 1) matchings that cover each edge once", [faults], 0
    )
    random, rounds = Matcha(connect("geometric:20").links, 0.5), 500 if quick else 5000  # type: ignore[arg-type]
    used = float(random.chances.sum() - 0.5 * len(random.pairs))
    yield at_most("T17", "sum of chances above the budget", [used], 1e-9)
    chance = random.chances / (1 - np.prod(1 - random.chances))
    seen = random.active(rounds).mean(axis=0)
    spread = np.sqrt(np.maximum(chance * (1 - chance), 1e-12) / rounds)
    yield at_most(
        "T17",
        "matchings' activation rates off their chances, in standard deviations",
        [float((np.abs(seen - chance) / (spread + 1e-6)).max())],
        4.0,
        note="of the largest among several; empty rounds are drawn again",
    )
