"""Mixing matrices: the weights with which neighbors average.

Without a server, client t replaces its model by a mean over its neighbors, theta_t <- sum_s W[t, s] theta_s.
A symmetric W with rows that sum to one keeps the mean of all models and brings them together at the rate of
its second largest eigenvalue, by size:

    |X W - mean|^2  <=  (1 - p) |X - mean|^2,        p = 1 - max(|lambda_2|, |lambda_n|)^2.

`metropolis` needs only the degrees of neighbors. `fastest` makes p as large as the graph allows (Boyd,
Diaconis, Xiao, Fastest Mixing Markov Chain on a Graph, 2004).
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
from numpy.typing import ArrayLike

from ..core.registry import Registry
from ..errors import ConfigError
from ..typing import Bools, Float64s, PyTree
from .fastest_mixing import fastest_weights
from .graphs import Graph, degrees, unreachable

mixing_registry: Registry[Float64s] = Registry("mixing", "mixings")
TOLERANCE = 1e-6


@mixing_registry.add("metropolis")
def metropolis(*, graph: Graph) -> Float64s:
    """1 / (1 + the larger degree) for every pair of neighbors; a client keeps the rest.

    >>> metropolis(graph=np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], bool)).round(2)
    array([[0.67, 0.33, 0.  ],
           [0.33, 0.33, 0.33],
           [0.  , 0.33, 0.67]])
    """
    degree = degrees(graph)
    return _with_rest(graph / (1.0 + np.maximum(degree[:, None], degree)))


@mixing_registry.add("fastest")
def fastest(keep: float = 0.01, *, graph: Graph) -> Float64s:
    """The fastest mixing weights of the graph, where everyone keeps at least a hundredth of its own model
    (`fastest:0` lets clients give all away); never slower than Metropolis."""
    if not 0 <= keep < 1:
        raise ConfigError(f"mixing 'fastest:{keep}' needs a share from 0 up to (not including) 1.")
    start = metropolis(graph=graph)
    found = _with_rest(fastest_weights(graph, start, keep))
    return found if contraction(found) > contraction(start) else start


def mixing_of(given: str | ArrayLike, graph: Graph) -> Float64s:
    """Mixing weights by name, or a matrix that is checked against the graph."""
    if isinstance(given, str):
        return mixing_registry.make(given, graph=graph)
    return check_mixing(given, graph)


def check_mixing(matrix: ArrayLike, graph: Graph | None = None, loops: bool = True) -> Float64s:
    """The matrix, if it is symmetric and doubly stochastic, joins only neighbors, and (with `loops`)
    everyone keeps a part of its own model; else a `ConfigError` that names a client."""
    w = np.asarray(matrix, np.float64)
    if w.ndim != 2 or w.shape[0] != w.shape[1]:
        raise ConfigError(f"a mixing matrix is square, but this one has shape {w.shape}.")
    if graph is not None and graph.shape != w.shape:
        raise ConfigError(f"the mixing matrix is of {len(w)} clients, but the graph of {len(graph)}.")
    _refuse(~np.isfinite(w) | (w < -TOLERANCE), "weights must be numbers that are not negative")
    _refuse(np.abs(w - w.T) > TOLERANCE, "the matrix must be symmetric")
    _refuse(np.diag(np.abs(w.sum(axis=1) - 1) > TOLERANCE), "every row must sum to one")
    if loops:
        _refuse(np.diag(np.diag(w) <= 0), "everyone must keep a part of its own model")
    if graph is not None:
        strangers = ~graph & ~np.eye(len(w), dtype=bool)
        _refuse(strangers & (w > TOLERANCE), "only neighbors may be mixed")
    return w


def contraction(matrices: ArrayLike | Sequence[ArrayLike]) -> float:
    """How much closer models get: p in |X W - mean|^2 <= (1 - p) |X - mean|^2, for a matrix, or for the
    product of several that are used one after the other.

    >>> round(contraction(np.full((4, 4), 0.25)), 6), round(contraction([np.eye(4) / 2 + 1 / 8] * 2), 6)
    (1.0, 0.9375)
    """
    product = _product(matrices)
    return float(1 - np.linalg.norm(product - 1 / len(product), 2) ** 2)


def expected_contraction(matrices: Sequence[ArrayLike], chances: ArrayLike | None = None) -> float:
    """The same p on average, where each round draws one of the matrices (with these chances)."""
    drawn = np.asarray(matrices, np.float64)
    shares = np.full(len(drawn), 1 / len(drawn)) if chances is None else np.asarray(chances, np.float64)
    mean_square = np.einsum("k,kij,kil->jl", shares, drawn, drawn)
    return float(1 - np.linalg.norm(mean_square - 1 / drawn.shape[-1], 2))


def reaches_everyone(matrices: ArrayLike | Sequence[ArrayLike]) -> bool:
    """Whether the graphs of these matrices together connect all clients."""
    stacked = np.asarray(matrices, np.float64)
    joined = np.abs(stacked.reshape(-1, *stacked.shape[-2:])).sum(axis=0) > 0
    return unreachable(joined) is None


def consensus_distance(models: PyTree) -> float:
    """The mean squared distance of clients' models (leading axis) from their mean."""
    leaves = [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(models)]
    return float(sum(np.sum((leaf - leaf.mean(axis=0)) ** 2) / len(leaf) for leaf in leaves))


def disagreement(models: PyTree) -> float:
    """The root mean squared distance of clients' models from their mean, over the length of the mean."""
    leaves = [np.asarray(leaf, np.float64) for leaf in jax.tree.leaves(models)]
    length = np.sqrt(sum(np.sum(leaf.mean(axis=0) ** 2) for leaf in leaves))
    return float(np.sqrt(consensus_distance(models)) / length) if length > 0 else np.inf


def _product(matrices: ArrayLike | Sequence[ArrayLike]) -> Float64s:
    stacked = np.asarray(matrices, np.float64)
    if stacked.ndim == 2:
        return stacked
    product = stacked[0]
    for matrix in stacked[1:]:
        product = product @ matrix
    return product


def _with_rest(weights: Float64s) -> Float64s:
    """What a client does not give to neighbors it keeps."""
    return weights + np.diag(1 - weights.sum(axis=1))


def _refuse(wrong: Bools, why: str) -> None:
    if wrong.any():
        s, t = np.argwhere(wrong)[0]
        where = f"at client {s}" if s == t else f"between clients {s} and {t}"
        raise ConfigError(f"not a mixing matrix: {why}, which fails {where}.")
