"""Overlays: arcs between silos, their cycle time, and their mixing weights.

An overlay is a digraph on silos, arcs from sender to receiver, that lets every model reach everyone. Its
cycle time is the largest mean delay of a circuit; a star is timed as what it is, two transfers and one
computation. Receivers average with the local-degree weights (Lin, Boyd, Fast Linear Iterations for
Distributed Averaging, 2003),

    W[i, j]  =  1 / (1 + max(|in(i)|, |out(j)|))   for every arc j -> i,        W[i, i] = the rest,

which are a half on a directed ring, and are scaled to be doubly stochastic where the digraph is not balanced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from ..core.registry import Registry
from ..core.text_files import read_text
from ..errors import ConfigError
from ..typing import Float64s
from .cycle_time import Circuit, critical_circuit, start_times
from .delays import computing, overlay_delays, transfers
from .graphs import Graph
from .strong_connectivity import check_strong
from .underlays.connectivity import Connectivity

SCALINGS = 100_000


class Design(Protocol):
    """What every way of exchanging models can say of itself."""

    @property
    def name(self) -> str:
        """How it is called."""

    @property
    def notes(self) -> str:
        """What else there is to know: the hub, say."""

    def cycle_time(self, connectivity: Connectivity) -> float:
        """Milliseconds per round in the long run."""

    def throughput(self, connectivity: Connectivity) -> float:
        """Rounds per second in the long run."""

    @property
    def messages(self) -> float:
        """Models sent per round (on average)."""

    def mixing(self, round: int = 0) -> Float64s:
        """Weights with which receivers (rows) average senders (columns) in a round."""

    def times(self, connectivity: Connectivity, rounds: int) -> Float64s:
        """When every silo starts each round, (rounds + 1, N) in ms."""


designer_registry: Registry[Design] = Registry("designer", "networks")


@dataclass(frozen=True, eq=False)
class Overlay:
    """The same messages every round.

    >>> ring = Overlay(np.roll(np.eye(3, dtype=bool), 1, axis=1), "ring")
    >>> ring.messages, ring.mixing().tolist()[0]
    (3, [0.5, 0.0, 0.5])
    """

    arcs: Graph
    """Senders by receivers, no loops."""
    name: str = "given"
    notes: str = ""
    hub: int | None = None
    """The server of a star, which is timed and averaged as one."""

    def __post_init__(self) -> None:
        if np.diag(self.arcs).any():
            raise ConfigError(f"silo {int(np.argmax(np.diag(self.arcs)))} sends to itself in the overlay.")

    def __len__(self) -> int:
        return len(self.arcs)

    def critical(self, connectivity: Connectivity) -> Circuit:
        """The circuit that sets the pace, with its mean delay in ms."""
        self._check(connectivity)
        if self.hub is not None:
            return star_circuit(connectivity, self.hub)
        return critical_circuit(overlay_delays(connectivity, self.arcs), connectivity.names)

    def cycle_time(self, connectivity: Connectivity) -> float:
        """Milliseconds per round in the long run."""
        return self.critical(connectivity).mean

    def throughput(self, connectivity: Connectivity) -> float:
        """Rounds per second in the long run."""
        return 1000.0 / self.cycle_time(connectivity)

    @property
    def messages(self) -> int:
        """Models sent per round."""
        return int(self.arcs.sum())

    def mixing(self, round: int = 0) -> Float64s:
        """Weights with which receivers (rows) average senders (columns); a star takes the true average."""
        if self.hub is not None:
            return np.full(self.arcs.shape, 1 / len(self))
        return doubly_stochastic(local_degree(self.arcs))

    def times(self, connectivity: Connectivity, rounds: int) -> Float64s:
        """When every silo starts each round, (rounds + 1, N) in ms."""
        self._check(connectivity)
        if self.hub is not None:
            rhythm = np.arange(rounds + 1) * self.cycle_time(connectivity)
            return np.repeat(rhythm[:, None], len(self), axis=1)
        return start_times(overlay_delays(connectivity, self.arcs), rounds)

    def _check(self, connectivity: Connectivity) -> None:
        if len(connectivity) != len(self):
            raise ConfigError(f"the overlay {self.name!r} has {len(self)} silos, not {len(connectivity)}.")
        if (missing := np.argwhere(self.arcs & ~connectivity.possible)).size:
            i, j = (connectivity.names[k] for k in missing[0])
            raise ConfigError(f"the overlay {self.name!r} sends from {i!r} to {j!r}, which cannot talk.")


def star_rounds(connectivity: Connectivity) -> Float64s:
    """Entry [i, c]: how long the hub c waits for silo i, from sending the average to having its model."""
    peers, once = np.full(len(connectivity), max(len(connectivity) - 1, 1)), np.ones(len(connectivity))
    up = transfers(connectivity, once, peers)
    down = transfers(connectivity, peers, once)
    waiting = computing(connectivity)[:, None] + up + down.T
    np.fill_diagonal(waiting, computing(connectivity))
    return waiting


def star_circuit(connectivity: Connectivity, hub: int) -> Circuit:
    """The slowest silo of a star, there and back; its "mean" is the length of a round."""
    waiting = star_rounds(connectivity)[:, hub]
    slowest = int(np.argmax(waiting))
    return Circuit(float(waiting[slowest]), (hub,) if slowest == hub else (hub, slowest))


def local_degree(arcs: Graph) -> Float64s:
    """Local-degree weights, receivers by senders; rows sum to one."""
    heard, sent = arcs.sum(axis=0), arcs.sum(axis=1)
    weights = arcs.T / (1.0 + np.maximum(heard[:, None], sent))
    return weights + np.diag(1 - weights.sum(axis=1))


def doubly_stochastic(weights: Float64s, tolerance: float = 1e-14) -> Float64s:
    """Rows and columns scaled in turns until both sum to one (Sinkhorn, Knopp, Concerning Nonnegative
    Matrices and Doubly Stochastic Matrices, 1967); it converges where silos keep a part and all hear each
    other."""
    for _ in range(SCALINGS):
        sums = weights.sum(axis=0)
        if np.abs(sums - 1).max() <= tolerance * len(weights):
            return weights
        weights = weights / sums
        weights = weights / weights.sum(axis=1, keepdims=True)
    raise ConfigError("the overlay is so unbalanced that no doubly stochastic weights were found on it.")


def overlay_of(
    pairs: Iterable[tuple[str | int, str | int]], connectivity: Connectivity, name: str = "given"
) -> Overlay:
    """An overlay from (sender, receiver) pairs of names or numbers; all silos must hear each other."""
    arcs = np.zeros((len(connectivity), len(connectivity)), bool)
    for sender, receiver in pairs:
        arcs[_number(sender, connectivity), _number(receiver, connectivity)] = True
    overlay = Overlay(arcs, name)
    check_strong(arcs, connectivity.names, f"the overlay {name!r}")
    overlay._check(connectivity)
    return overlay


def _number(silo: str | int, connectivity: Connectivity) -> int:
    if isinstance(silo, str) and silo in connectivity.names:
        return connectivity.names.index(silo)
    if isinstance(silo, int) and 0 <= silo < len(connectivity):
        return silo
    raise ConfigError(f"there is no silo {silo!r}; there are {', '.join(connectivity.names[:8])}...")


@designer_registry.add("complete")
def complete(*, connectivity: Connectivity) -> Overlay:
    """Everyone sends to everyone that can be reached."""
    return Overlay(connectivity.possible, "complete")


@designer_registry.add("arcs")
def arcs(path: str, *, connectivity: Connectivity) -> Overlay:
    """Your own, from a file with one `sender,receiver` per line; `arcs:FILE`."""
    lines = read_text(Path(path), "file of arcs", "a sender and a receiver per line").splitlines()
    pairs = [tuple(part.strip() for part in line.split(",")) for line in lines if line.strip()]
    if wrong := [pair for pair in pairs if len(pair) != 2]:
        raise ConfigError(f"{Path(path).name}: {','.join(wrong[0])!r} is not 'sender,receiver'.")
    return overlay_of([(pair[0], pair[1]) for pair in pairs], connectivity, Path(path).stem)


def design(
    spec: str, connectivity: Connectivity, seed: int = 0, progress: Callable[[str, float], None] | None = None
) -> Design:
    """An overlay by the name of its designer: `ring`, `star:first`, `matcha:0.5`; `progress` is told what a
    designer that takes long does, and which part of it is behind."""
    return designer_registry.make(spec, connectivity=connectivity, seed=seed, progress=progress)
