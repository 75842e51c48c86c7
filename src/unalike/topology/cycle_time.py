"""Cycle time of an overlay: the long-run time per round (Baccelli, Cohen, Olsder, Quadrat, Synchronization
and Linearity, 1992).

A silo starts its next round when it has heard all its in-neighbors and has computed itself,

    t_i(k+1)  =  max over j in in(i) + {i} of  t_j(k) + d_o(j, i),

so that t_i(k) / k tends to the largest mean delay per arc of a circuit, which is the cycle time. Howard's
policy iteration (Cochet-Terrasson, Cohen, Gaubert, McGettrick, Quadrat, Numerical Computation of Spectral
Elements in Max-Plus Algebra, 1998) finds that circuit: everyone follows one arc, the best circuit of these
gives a mean and a potential, and whoever sees a better arc under the potential takes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..typing import Float64s, Int64s
from .graphs import Graph
from .strong_connectivity import check_strong

TOLERANCE = 1e-12


@dataclass(frozen=True)
class Circuit:
    """A circuit of silos and its mean delay per arc, in ms."""

    mean: float
    silos: tuple[int, ...]
    """In the order of messages; one silo alone is one that computes longer than it waits."""

    def words(self, names: Sequence[str]) -> str:
        """For people: A → B → A."""
        return " → ".join(names[i] for i in (*self.silos, self.silos[0]))


def critical_circuit(delays: Float64s, names: Sequence[str] | None = None) -> Circuit:
    """The circuit with the largest mean, of delays that are -inf where there is no arc (senders by
    receivers); a `ConfigError` where not all silos hear each other.

    >>> ring = np.array([[0, 1, -np.inf], [-np.inf, 0, 3], [4, -np.inf, 0]])
    >>> critical_circuit(ring).mean == 8 / 3
    True
    """
    arcs = np.isfinite(delays) & ~np.eye(len(delays), dtype=bool)
    check_strong(arcs, names or [str(i) for i in range(len(delays))], "the overlay")
    found = _shortcut(arcs, delays) or howard(delays)
    alone = int(np.argmax(np.diag(delays)))
    return Circuit(float(delays[alone, alone]), (alone,)) if delays[alone, alone] > found.mean else found


def _shortcut(arcs: Graph, delays: Float64s) -> Circuit | None:
    """Rings and trees need no search."""
    if len(arcs) == 1:
        return Circuit(float(delays[0, 0]), (0,))
    count = int(arcs.sum())
    if count == len(arcs):
        return ring_circuit(arcs, delays)
    return tree_circuit(arcs, delays) if count == 2 * len(arcs) - 2 and (arcs == arcs.T).all() else None


def ring_circuit(arcs: Graph, delays: Float64s) -> Circuit:
    """The only circuit of a directed ring."""
    after = arcs.argmax(axis=1)
    silos = [0]
    while after[silos[-1]] != 0:
        silos.append(int(after[silos[-1]]))
    return _circuit(delays, silos)


def tree_circuit(arcs: Graph, delays: Float64s) -> Circuit:
    """The slowest edge of a tree, there and back: circuits of trees are pairs of arcs."""
    both = np.where(arcs, delays + delays.T, -np.inf)
    i, j = np.unravel_index(int(both.argmax()), both.shape)
    return _circuit(delays, [int(i), int(j)])


def _circuit(delays: Float64s, silos: list[int]) -> Circuit:
    path = np.array(silos)
    return Circuit(float(delays[path, np.roll(path, -1)].sum()) / len(silos), tuple(silos))


class _Arcs:
    """The arcs of a digraph, sorted by sender."""

    def __init__(self, delays: Float64s) -> None:
        self.sender, self.receiver = np.nonzero(np.isfinite(delays))
        self.delay = delays[self.sender, self.receiver]
        self.first = np.searchsorted(self.sender, np.arange(len(delays)))

    def best(self, value: Float64s) -> tuple[Float64s, Int64s]:
        """The largest value of each sender's arcs, and the number of that arc."""
        top = np.maximum.reduceat(value, self.first)
        where = np.flatnonzero(value == top[self.sender])
        return top, where[np.searchsorted(self.sender[where], np.arange(len(top)))]


def howard(delays: Float64s) -> Circuit:
    """The circuit with the largest mean, loops included, by policy iteration."""
    arcs = _Arcs(delays)
    scale = TOLERANCE * max(float(np.abs(arcs.delay).max()), 1e-300)
    choice = arcs.best(arcs.delay)[1]
    circuit = _best_circuit(delays, arcs.receiver[choice])
    while True:
        choice = _towards(arcs, choice, circuit.silos)
        value = _potential(arcs, choice, circuit)
        offer, better = arcs.best(arcs.delay - circuit.mean + value[arcs.receiver])
        improved = offer > value + scale * len(delays)
        if not improved.any():
            return circuit
        choice = np.where(improved, better, choice)
        found = _best_circuit(delays, arcs.receiver[choice])
        circuit = found if found.mean > circuit.mean else circuit


def _best_circuit(delays: Float64s, after: Int64s) -> Circuit:
    """The best of the circuits of a policy: everyone follows one arc."""
    mark, best = np.full(len(after), -1), None
    follow = after.tolist()
    for start in range(len(follow)):
        path, here = [], start
        while mark[here] < 0:
            mark[here] = start
            path.append(here)
            here = follow[here]
        if mark[here] == start:
            found = _circuit(delays, path[path.index(here) :])
            best = found if best is None or found.mean > best.mean else best
    assert best is not None
    return best


def _towards(arcs: _Arcs, choice: Int64s, goal: tuple[int, ...]) -> Int64s:
    """The policy changed so that everyone gets to the goal: whoever does not takes an arc that does."""
    after, there = arcs.receiver[choice], np.zeros(len(choice), bool)
    there[list(goal)] = True
    choice = choice.copy()
    arrives, jump = there, np.where(there, np.arange(len(after)), after)
    for _ in range(len(after).bit_length()):
        arrives, jump = arrives | arrives[jump], jump[jump]
    while not arrives.all():
        step = np.flatnonzero(arrives[arcs.receiver] & ~arrives[arcs.sender])
        choice[arcs.sender[step]] = step
        arrives = arrives.copy()
        arrives[arcs.sender[step]] = True
    return choice


def _potential(arcs: _Arcs, choice: Int64s, circuit: Circuit) -> Float64s:
    """The excess over the mean that a message gathers on its way to the circuit's first silo."""
    jump, value = arcs.receiver[choice].copy(), arcs.delay[choice] - circuit.mean
    root = circuit.silos[0]
    jump[root], value[root] = root, 0.0
    for _ in range(len(jump).bit_length()):
        value, jump = value + value[jump], jump[jump]
    return value


def karp(delays: Float64s) -> float:
    """The largest circuit mean by another way (Karp, A Characterization of the Minimum Cycle Mean in a
    Digraph, 1978): max over v of min over k of (D_n(v) - D_k(v)) / (n - k), D_k the longest walks of k
    arcs."""
    size, arcs = len(delays), _Arcs(delays.T)
    longest = np.full((size + 1, size), -np.inf)
    longest[0, 0] = 0.0
    for k in range(size):
        longest[k + 1] = arcs.best(arcs.delay + longest[k, arcs.receiver])[0]
    with np.errstate(invalid="ignore"):
        slope = (longest[-1] - longest[:-1]) / np.arange(size, 0, -1)[:, None]
    slope = np.where(np.isfinite(longest[:-1]), slope, np.inf).min(axis=0)
    return float(slope[np.isfinite(longest[-1])].max())


def start_times(delays: Float64s | Sequence[Float64s], rounds: int) -> Float64s:
    """When every silo starts each round, (rounds + 1, N) in ms; delays may differ by round, in turns."""
    every = [delays] if isinstance(delays, np.ndarray) else list(delays)
    turns = [_Arcs(table.T) for table in every]
    times = np.zeros((rounds + 1, len(every[0])))
    for k in range(rounds):
        arcs = turns[k % len(turns)]
        times[k + 1] = np.maximum.reduceat(arcs.delay + times[k, arcs.receiver], arcs.first)
    return times
