"""Similarity graphs with fewer edges: only nearest neighbors, or only pairs that are near enough.

Belkin and Niyogi, "Laplacian Eigenmaps for Dimensionality Reduction and Data Representation" (2003), join

    knn:K        i and j where one of them is among the K nearest of the other,
    epsilon:E    i and j where mis(i, j) <= E;

`full` joins all. An edge that stays keeps its weight -ln mis(i, j). Groups that are far apart come apart, and
the spectrum has as many zeros as the graph has components.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.csgraph import connected_components

from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Bools, Float64s, Int64s
from .graph import edge_weights

Neighbors = Callable[[Float64s], Bools]
"""From the weights of all pairs to a symmetric table of who is joined; the diagonal says nothing."""
similarity_graph_registry: Registry[Neighbors] = Registry("similarity graph")

FULL = "full"


@similarity_graph_registry.add(FULL)
def full() -> Neighbors:
    """Every two clients are joined."""
    return lambda weights: np.ones(weights.shape, bool)


@similarity_graph_registry.add("knn")
def nearest(neighbors: int = 5) -> Neighbors:
    """Two clients are joined where one is among the nearest of the other; of equally near ones the first.

    >>> keep_edges(np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 2.0], [1.0, 2.0, 0.0]]), "knn:1")
    array([[0., 3., 0.],
           [3., 0., 2.],
           [0., 2., 0.]])
    """
    if neighbors < 1:
        raise ConfigError(f"knn:{neighbors} is not possible; give a number of neighbors, at least 1.")

    def joined(weights: Float64s) -> Bools:
        far = -weights
        np.fill_diagonal(far, np.inf)
        chosen = np.zeros(far.shape, bool)
        near = np.argsort(far, axis=1, kind="stable")[:, :neighbors]
        np.put_along_axis(chosen, near, True, axis=1)
        return chosen | chosen.T

    return joined


@similarity_graph_registry.add("epsilon")
def within(most: float = 0.01) -> Neighbors:
    """Two clients are joined where they are misaligned by at most so much, above 0 and at most 1."""
    if not 0 < most <= 1:
        raise ConfigError(f"epsilon:{most} is not possible; give a misalignment above 0 and at most 1.")
    least = float(edge_weights(most))
    return lambda weights: weights >= least


def keep_edges(weights: Float64s, graph: str) -> Float64s:
    """The weights of the edges that a graph has, 0 for the others.

    >>> keep_edges(np.array([[0.0, 3.0], [3.0, 0.0]]), "epsilon:0.01").sum()
    np.float64(0.0)
    """
    kept = np.where(similarity_graph_registry.make(graph)(weights), weights, 0.0)
    np.fill_diagonal(kept, 0.0)
    return kept


def components(edges: Float64s) -> Int64s:
    """The component of every client.

    >>> components(np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])).tolist()
    [0, 1, 0]
    """
    return np.asarray(connected_components(edges > 0, directed=False)[1], np.int64)
