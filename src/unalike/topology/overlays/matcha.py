"""MATCHA: random matchings of the graph communicate (Wang, Sahu, Yang, Joshi, Kar, MATCHA: Speeding Up
Decentralized SGD via Matching Decomposition Sampling, 2019).

The edges of a base graph fall into J matchings. Each round every matching j is active with chance p_j, and

    p      =  argmax  lambda_2(sum_j p_j L_j),        0 <= p <= 1,  sum_j p_j <= C_b J,
    W      =  I - alpha sum_j B_j L_j,                B_j ~ Bernoulli(p_j),
    alpha  =  argmin  lambda_max(E[W^2] - 11'/N),

with L_j the Laplacian of a matching: the expected graph is as well connected as the budget C_b allows. Rounds
without any message are drawn again. Silos wait for the slowest transfer of each round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy

from ...core.random import generator
from ...errors import ConfigError
from ...typing import Bools, Float64s, Int64s
from ..cycle_time import start_times
from ..delays import overlay_delays
from ..graphs import Graph, check_graph
from ..overlay import designer_registry
from ..underlays.connectivity import Connectivity
from .edge_coloring import matchings

ASCENT = 600
ROUNDS = 1000
"""So many rounds are drawn for the cycle time."""


@dataclass(frozen=True, eq=False)
class Matcha:
    """Random matchings of a base graph, the same for the same seed and round."""

    graph: Graph
    budget: float = 0.5
    name: str = "matcha"
    seed: int = 0
    pairs: list[Int64s] = field(init=False, repr=False)
    """The edges of every matching."""

    def __post_init__(self) -> None:
        if not 0 < self.budget <= 1:
            raise ConfigError(f"a communication budget is above 0 and at most 1, not {self.budget}.")
        object.__setattr__(self, "pairs", matchings(check_graph(self.graph)))

    def __len__(self) -> int:
        return len(self.graph)

    @property
    def notes(self) -> str:
        """How many matchings there are."""
        return f"{len(self.pairs)} matchings, budget {self.budget:g}"

    @cached_property
    def chances(self) -> Float64s:
        """The chance of every matching to be active, p, before empty rounds are drawn again."""
        return best_chances(self.pairs, len(self), self.budget)

    @cached_property
    def laplacians(self) -> Float64s:
        """L_j of every matching, (J, N, N)."""
        return np.array([laplacian(pairs, len(self)) for pairs in self.pairs])

    @cached_property
    def alpha(self) -> float:
        """The weight of every active pair."""
        return best_weight(self.laplacians, self.chances)

    def active(self, rounds: int, start: int = 0) -> Bools:
        """Which matchings (columns) are active in rounds from `start`; at least one in each."""
        return np.array([self._draw(k) for k in range(start, start + rounds)]).reshape(rounds, -1)

    def _draw(self, round: int) -> Bools:
        """One draw, given that it is not empty: the first active matching, then the others as ever."""
        uniform = generator(self.seed, "matcha", round).random(len(self.chances) + 1)
        before = np.concatenate([[1.0], np.cumprod(1 - self.chances[:-1])])
        first = np.cumsum(before * self.chances)
        leader = int(np.searchsorted(first, uniform[-1] * first[-1]))
        leader = min(leader, len(first) - 1)
        drawn = uniform[:-1] < self.chances
        drawn[:leader] = False
        drawn[leader] = True
        return drawn

    def arcs(self, round: int) -> Graph:
        """Who sends to whom in a round; both directions of every active pair."""
        return self._arcs(self._draw(round))

    def _arcs(self, active: Bools) -> Graph:
        arcs = np.zeros(self.graph.shape, bool)
        edges = np.concatenate([pairs for pairs, on in zip(self.pairs, active, strict=True) if on])
        arcs[edges[:, 0], edges[:, 1]] = arcs[edges[:, 1], edges[:, 0]] = True
        return arcs

    def mixing(self, round: int = 0) -> Float64s:
        """W = I - alpha (Laplacian of the round's pairs)."""
        arcs = self.arcs(round)
        return np.eye(len(self)) - self.alpha * (np.diag(arcs.sum(axis=1)) - arcs)

    @property
    def messages(self) -> float:
        """Models sent per round on average."""
        sizes = np.array([len(pairs) for pairs in self.pairs])
        return float(2 * sizes @ self.chances / (1 - np.prod(1 - self.chances)))

    def round_times(self, connectivity: Connectivity, rounds: int) -> Float64s:
        """The slowest transfer (or silo) of each round in ms, with everyone waiting for it."""
        tables = (overlay_delays(connectivity, self.arcs(k)) for k in range(rounds))
        return np.array([table.max() for table in tables])

    def cycle_time(self, connectivity: Connectivity, rounds: int = ROUNDS) -> float:
        """The mean length of a round in ms, over `rounds` drawn ones."""
        return float(self.round_times(connectivity, rounds).mean())

    def recurrent_cycle_time(self, connectivity: Connectivity, rounds: int = ROUNDS) -> float:
        """The same where silos wait only for their own neighbors; never longer."""
        tables = [overlay_delays(connectivity, self.arcs(k)) for k in range(rounds)]
        return float(start_times(tables, rounds)[-1].max() / rounds)

    def throughput(self, connectivity: Connectivity) -> float:
        """Rounds per second."""
        return 1000.0 / self.cycle_time(connectivity)

    def times(self, connectivity: Connectivity, rounds: int) -> Float64s:
        """When every silo starts each round, (rounds + 1, N) in ms."""
        ends = np.concatenate([[0.0], np.cumsum(self.round_times(connectivity, rounds))])
        return np.repeat(ends[:, None], len(self), axis=1)


@designer_registry.add("matcha")
def matcha(budget: float = 0.5, *, connectivity: Connectivity, seed: int = 0) -> Matcha:
    """Random matchings of all pairs that can talk; `matcha:0.5` is half of them per round."""
    return Matcha(connectivity.possible & connectivity.possible.T, budget, "matcha", seed)


@designer_registry.add("matcha+")
def matcha_plus(budget: float = 0.5, *, connectivity: Connectivity, seed: int = 0) -> Matcha:
    """Random matchings of the links of the map; `matcha+:0.5`. It needs to know the map."""
    if connectivity.links is None:
        raise ConfigError("designer 'matcha+' needs a map, but these are measurements; try 'matcha'.")
    return Matcha(connectivity.links, budget, "matcha+", seed)


def laplacian(pairs: Int64s, size: int) -> Float64s:
    """Degrees minus adjacency."""
    table = np.zeros((size, size))
    table[pairs[:, 0], pairs[:, 1]] = table[pairs[:, 1], pairs[:, 0]] = -1.0
    return table - np.diag(table.sum(axis=1))


def best_chances(pairs: list[Int64s], size: int, budget: float, steps: int = ASCENT) -> Float64s:
    """Chances that connect the expected graph best, by projected super-gradient ascent: the slope of lambda_2
    along p_j is v' L_j v for its eigenvector v."""
    edges, owner = np.concatenate(pairs), np.repeat(np.arange(len(pairs)), [len(p) for p in pairs])
    chances = np.full(len(pairs), float(budget))
    best, highest = chances, -np.inf
    # lambda_2 is at most the mean of the N - 1 eigenvalues beside zero, and that is bounded by the budget.
    ceiling = 2 * budget * len(pairs) * max(len(p) for p in pairs) / max(size - 1, 1)
    for step in range(steps if budget < 1 else 0):
        value, slope = _connectivity_slope(edges, owner, chances, size)
        if value > highest + 1e-12:
            best, highest = chances, value
        length = float(np.linalg.norm(slope))
        if highest > ceiling * (1 - 1e-9) or length == 0:
            break
        chances = _within_budget(chances + 0.5 / np.sqrt(step + 1) * slope / length, budget * len(pairs))
    return best


def _connectivity_slope(edges: Int64s, owner: Int64s, chances: Float64s, size: int) -> tuple[float, Float64s]:
    a, b = edges.T
    table = np.zeros((size, size))
    table[a, b] = table[b, a] = -chances[owner]
    values, vectors = np.linalg.eigh(table - np.diag(table.sum(axis=1)))
    gaps = (vectors[a, 1] - vectors[b, 1]) ** 2
    return float(values[1]), np.bincount(owner, gaps, len(chances)).astype(np.float64)


def _within_budget(chances: Float64s, total: float) -> Float64s:
    """The nearest chances in [0, 1] that sum to at most the total, by bisection on a common shift."""
    low, high = 0.0, float(chances.max())
    if np.clip(chances, 0, 1).sum() <= total:
        return np.clip(chances, 0, 1)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(chances - middle, 0, 1).sum() > total else (low, middle)
    return np.clip(chances - high, 0, 1)


def best_weight(laplacians: Float64s, chances: Float64s) -> float:
    """The alpha with which models come together fastest on average; a convex problem in one number."""
    mean = np.tensordot(chances, laplacians, axes=1)
    wobble = np.tensordot(chances * (1 - chances), laplacians, axes=1)
    second = mean @ mean + 2 * wobble
    size = len(mean)

    def slowest(alpha: float) -> float:
        square = np.eye(size) - 2 * alpha * mean + alpha**2 * second - 1 / size
        return float(np.linalg.eigvalsh(square)[-1])

    top = 2 / max(float(np.linalg.eigvalsh(mean)[-1]), 1e-12)
    return float(
        scipy.optimize.minimize_scalar(slowest, bounds=(0, top), method="bounded", options={"xatol": 1e-9}).x
    )
