"""Fastest mixing weights on a graph's edges (Boyd, Diaconis, Xiao, Fastest Mixing Markov Chain on a Graph,
2004).

With a weight w_e >= 0 on every edge and at most one at every client, the chain is

    W  =  I - sum_e w_e (1_s - 1_t)(1_s - 1_t)',        minimize   max(|lambda_2|, |lambda_n|).

The largest eigenvalue by size is convex in w but has corners, so its soft maximum is minimized instead, ever
more sharply; many edges are walked down by projected subgradients. Both start from given weights, and the
best weights seen are returned.
"""

from __future__ import annotations

import numpy as np
import scipy

from ..typing import Float64s
from .graphs import Graph

FEW_EDGES = 150
"""Up to so many, the smooth problem is solved; more are walked down."""
SHARPNESS = (20.0, 200.0, 2000.0, 20000.0)
WALK = 100


class _Chain:
    """Chains on a graph, by the weights of its edges."""

    def __init__(self, graph: Graph) -> None:
        self.size = len(graph)
        self.heads, self.tails = np.nonzero(np.triu(graph, 1))
        self.ends = np.zeros((self.size, len(self.heads)))
        """Which edges touch which client."""
        self.ends[self.heads, np.arange(len(self.heads))] = 1
        self.ends[self.tails, np.arange(len(self.heads))] = 1

    def deviation(self, weights: Float64s) -> Float64s:
        """W minus its limit."""
        table = self.table(weights)
        return table + np.diag(1 - table.sum(axis=1)) - 1 / self.size

    def table(self, weights: Float64s) -> Float64s:
        """The weights as a symmetric matrix without diagonal."""
        table = np.zeros((self.size, self.size))
        table[self.heads, self.tails] = table[self.tails, self.heads] = weights
        return table

    def slowest(self, weights: Float64s) -> float:
        """The largest eigenvalue by size, beside that of the mean."""
        return float(np.abs(np.linalg.eigvalsh(self.deviation(weights))).max())

    def soft(self, weights: Float64s, sharpness: float) -> tuple[float, Float64s]:
        """A smooth maximum of the eigenvalues' sizes, and its gradient."""
        values, vectors = np.linalg.eigh(self.deviation(weights))
        signed = sharpness * np.concatenate([values, -values])
        top = signed.max()
        chances = np.exp(signed - top)
        total = chances.sum()
        pull = (chances[: self.size] - chances[self.size :]) / total
        gaps = (vectors[self.heads] - vectors[self.tails]) ** 2
        return (top + np.log(total)) / sharpness, -gaps @ pull

    def allowed(self, weights: Float64s, keep: float) -> Float64s:
        """Weights scaled down where a client would give away more than it may."""
        weights = np.maximum(weights, 0.0)
        given = np.maximum(self.ends @ weights / (1 - keep), 1.0)
        return weights / np.maximum(given[self.heads], given[self.tails])


def fastest_weights(graph: Graph, start: Float64s, keep: float = 0.0) -> Float64s:
    """The weights of all edges (no diagonal), from a start; everyone keeps at least `keep` of its own."""
    chain = _Chain(graph)
    first = chain.allowed(start[chain.heads, chain.tails], keep)
    best = (_solve if len(first) <= FEW_EDGES else _walk)(chain, first, keep)
    return chain.table(best)


def _solve(chain: _Chain, start: Float64s, keep: float) -> Float64s:
    """Sharper and sharper smooth problems, each from the last one's answer."""
    room = scipy.optimize.LinearConstraint(chain.ends, -np.inf, 1 - keep)
    seen = [start]
    for sharpness in SHARPNESS:
        answer = scipy.optimize.minimize(
            chain.soft,
            seen[-1],
            args=(sharpness,),
            jac=True,
            bounds=[(0, 1)] * len(start),
            constraints=[room],
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-12},
        )
        seen.append(chain.allowed(answer.x, keep))
    return min(seen, key=chain.slowest)


def _walk(chain: _Chain, start: Float64s, keep: float) -> Float64s:
    """Subgradient steps of falling length, brought back to what is allowed."""
    weights, best, lowest = start, start, np.inf
    sharpness = 10 * np.log(2 * chain.size) / max(chain.slowest(start), 1e-3)
    length = np.linalg.norm(start)
    for turn in range(WALK):
        height, slope = chain.soft(weights, sharpness)
        if height < lowest:
            best, lowest = weights, height
        step = 0.1 * length / np.sqrt(turn + 1) / max(float(np.linalg.norm(slope)), 1e-12)
        weights = chain.allowed(weights - step * slope, keep)
    return best
