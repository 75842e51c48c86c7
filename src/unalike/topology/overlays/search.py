"""Local search over digraphs for a faster overlay.

The problem is NP-hard, and the published designers return a tree or a ring. Here the best of them is taken as
a start and changed by chance: an arc of the critical circuit is led over a third silo, bent to another one,
or dropped; a silo moves to another place; a part of a ring is reversed. Changes that shorten the round are
kept, and some that lengthen it, ever fewer (Kirkpatrick, Gelatt, Vecchi, Optimization by Simulated Annealing,
1983):

    keep with chance  exp(-(new - old) / temperature).

The cycle time of every change is exact, degrees included. :mod:`..certification` says how far from optimal
the result may be.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from ...core.random import generator
from ...errors import ConfigError
from ..certification import Certificate, Progress, certify
from ..cycle_time import Circuit, critical_circuit
from ..delays import overlay_delays, single_delays
from ..graphs import Graph
from ..overlay import Overlay, designer_registry
from ..strong_connectivity import is_strong
from ..underlays.connectivity import Connectivity
from .delta_mbst import delta_mbst
from .mst import mst
from .ring import ring, ring_of
from .tsp import tour_length

HOT, WARM = 0.02, 0.001
"""First temperatures, in parts of the first cycle time: to leave a tree far behind, and to refine (one arc of
many moves a mean by little)."""
COOLING = 0.01
"""Of the first temperature is left in the end."""
USUAL = 200
"""Silos up to which all steps are taken."""
TOLD = 50
"""Steps of a walk between two words on progress."""
NEAR = 8
"""New arcs go to one of so many nearest silos, mostly."""


@designer_registry.add("search")
def search(
    steps: int = 20_000, *, connectivity: Connectivity, seed: int = 0, progress: Progress | None = None
) -> Overlay:
    """The best of the other designs, improved by a search over all directed overlays; `search:100000` looks
    longer (above 200 silos, steps grow fewer as they grow longer)."""
    if steps < 0:
        raise ConfigError(f"designer 'search' needs a number of steps that is not negative, not {steps}.")
    steps = int(steps * min(1.0, (USUAL / len(connectivity)) ** 2))
    starts = starting_designs(connectivity)
    found = [start.arcs for start in starts]
    if len(connectivity) > 2:
        part, share = steps // (2 * len(starts)), 0.5 / len(starts)
        walks = [
            anneal(
                connectivity,
                start.arcs,
                part,
                (seed, k),
                WARM if start.name == "ring" else HOT,
                _part(progress, k * share, share),
            )
            for k, start in enumerate(starts)
        ]
        best = min((*found, *walks), key=lambda arcs: _critical(connectivity, arcs).mean)
        last = _part(progress, 0.5, 0.5)
        found.append(anneal(connectivity, best, steps // 2, (seed, len(starts)), WARM, last))
    best = min(found, key=lambda arcs: _critical(connectivity, arcs).mean)
    return Overlay(without_needless(connectivity, best), "search", f"from {len(starts)} designs")


def search_certified(
    connectivity: Connectivity,
    steps: int = 20_000,
    nodes: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Certificate:
    """The overlay of a search, with a certified lower bound on the best cycle time; `nodes` is how many sets
    of choices branch and bound may look at (500 up to 30 silos; of more it rarely closes anything)."""
    found = search(steps, connectivity=connectivity, seed=seed, progress=progress)
    return certify(connectivity, found, nodes, progress)


def best_design(connectivity: Connectivity) -> Overlay:
    """The fastest of the designs that a search starts from."""
    return min(starting_designs(connectivity), key=lambda one: one.cycle_time(connectivity))


def starting_designs(connectivity: Connectivity) -> list[Overlay]:
    """Ring, spanning tree and tree of limited degree, as far as they exist; or all arcs that are needed."""
    makers = (
        lambda: ring("improved", connectivity=connectivity),
        lambda: mst(connectivity=connectivity),
        lambda: delta_mbst(connectivity=connectivity),
    )
    designs = []
    for make in makers:
        with suppress(ConfigError):
            designs.append(make())
    return designs or [Overlay(without_needless(connectivity, connectivity.possible), "complete")]


def anneal(
    connectivity: Connectivity,
    start: Graph,
    steps: int,
    seed: tuple[int, ...] = (0,),
    warm: float = WARM,
    progress: Progress | None = None,
) -> Graph:
    """The fastest overlay met on a walk through strongly connected digraphs that starts from one; `warm` is
    the first temperature in parts of its cycle time."""
    rng = generator(seed[0], "overlay search", *seed[1:])
    moves = _Moves(connectivity, rng)
    now, here = start, _critical(connectivity, start)
    best, least = now, here.mean
    first = max(warm * here.mean, 1e-300)
    for step in range(steps):
        if progress is not None and step % TOLD == 0:
            progress("searching", step / steps)
        changed = moves.propose(now, here)
        if changed is None:
            continue
        there = _critical(connectivity, changed)
        temperature = first * COOLING ** (step / steps)
        if there.mean <= here.mean or rng.random() < np.exp((here.mean - there.mean) / temperature):
            now, here = changed, there
        if here.mean < least * (1 - 1e-12):
            best, least = now, here.mean
    return best


def _part(progress: Progress | None, begin: float, share: float) -> Progress | None:
    """Progress of a part, told as that of the whole."""
    return None if progress is None else lambda words, done: progress(words, begin + share * done)


def without_needless(connectivity: Connectivity, arcs: Graph) -> Graph:
    """The overlay without arcs that it does not need to be strongly connected, the slowest first; never
    slower."""
    delays = overlay_delays(connectivity, arcs)
    arcs = arcs.copy()
    for i, j in sorted(np.argwhere(arcs).tolist(), key=lambda arc: -delays[arc[0], arc[1]]):
        if arcs[i].sum() > 1 and arcs[:, j].sum() > 1:
            arcs[i, j] = False
            arcs[i, j] = not is_strong(arcs)
    return arcs


def _critical(connectivity: Connectivity, arcs: Graph) -> Circuit:
    return critical_circuit(overlay_delays(connectivity, arcs), connectivity.names)


class _Moves:
    """Small changes of an overlay that leave it strongly connected."""

    def __init__(self, connectivity: Connectivity, rng: np.random.Generator) -> None:
        self.possible, self.rng = connectivity.possible, rng
        self.weights = np.where(self.possible, single_delays(connectivity), np.inf)
        self.near = np.argsort(self.weights, axis=1)[:, : min(NEAR, len(self.weights) - 1)]
        self.kinds = (self._detour, self._bend, self._drop, self._add, self._relocate, self._reverse)

    def propose(self, arcs: Graph, circuit: Circuit) -> Graph | None:
        """A changed overlay, or None where the change is not possible."""
        arcs = arcs.copy()
        changed = self.kinds[self.rng.integers(len(self.kinds))](arcs, circuit)
        if changed is None or (changed & ~self.possible).any() or changed.diagonal().any():
            return None
        return changed if is_strong(changed) else None

    def _arc(self, circuit: Circuit) -> tuple[int, int]:
        """An arc of the critical circuit."""
        k = int(self.rng.integers(len(circuit.silos)))
        return circuit.silos[k], circuit.silos[(k + 1) % len(circuit.silos)]

    def _silo(self, near: int) -> int:
        """A silo, mostly one that is near."""
        if self.rng.random() < 0.8:
            return int(self.rng.choice(self.near[near]))
        return int(self.rng.integers(len(self.near)))

    def _detour(self, arcs: Graph, circuit: Circuit) -> Graph | None:
        i, j = self._arc(circuit)
        k = self._silo(i)
        if k == j or i == j:
            return None
        arcs[i, j] = False
        arcs[i, k] = arcs[k, j] = True
        return arcs

    def _bend(self, arcs: Graph, circuit: Circuit) -> Graph | None:
        i, j = self._arc(circuit)
        arcs[i, j] = False
        if self.rng.random() < 0.5:
            arcs[i, self._silo(i)] = True
        else:
            arcs[self._silo(j), j] = True
        return arcs

    def _drop(self, arcs: Graph, circuit: Circuit) -> Graph | None:
        i, j = self._arc(circuit)
        if i == j:
            return None
        arcs[i, j] = False
        return arcs

    def _add(self, arcs: Graph, circuit: Circuit) -> Graph | None:
        """Add an arc and drop another out of, or into, a silo of the critical circuit."""
        i = int(self.rng.integers(len(arcs)))
        arcs[i, self._silo(i)] = True
        a, b = self._arc(circuit)
        if a != b:
            arcs[a, b] = False
        return arcs

    def _relocate(self, arcs: Graph, circuit: Circuit) -> Graph | None:
        """Take a silo with one arc in and one out from its place, and put it into another arc."""
        silo = int(
            self.rng.choice(circuit.silos) if self.rng.random() < 0.5 else self.rng.integers(len(arcs))
        )
        before, after = np.flatnonzero(arcs[:, silo]), np.flatnonzero(arcs[silo])
        if len(before) != 1 or len(after) != 1:
            return None
        arcs[before[0], silo] = arcs[silo, after[0]] = False
        if before[0] != after[0]:
            arcs[before[0], after[0]] = True
        ends = np.argwhere(arcs)
        prices = self.weights[ends[:, 0], silo] + self.weights[silo, ends[:, 1]]
        prices = prices - self.weights[ends[:, 0], ends[:, 1]]
        i, j = ends[self.rng.choice(np.argsort(prices)[:NEAR])]
        arcs[i, j] = self.rng.random() < 0.2
        arcs[i, silo] = arcs[silo, j] = True
        return arcs

    def _reverse(self, arcs: Graph, circuit: Circuit) -> Graph | None:
        """Reverse a part of a ring."""
        if arcs.sum() != len(arcs) or len(circuit.silos) != len(arcs):
            return None
        tour = np.array(circuit.silos)
        i, j = sorted(self.rng.integers(len(tour), size=2).tolist())
        turned = np.concatenate([tour[:i], tour[i:j][::-1], tour[j:]])
        return ring_of(turned).arcs if tour_length(turned, self.weights) < np.inf else None
