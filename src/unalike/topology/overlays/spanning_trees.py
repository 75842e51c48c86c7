"""Minimum and degree-bounded spanning trees (Kruskal, On the Shortest Spanning Subtree of a Graph, 1956;
Prim, Shortest Connection Networks, 1957; with a limit on degrees, Andersen and Ras, Minimum Bottleneck
Spanning Trees with Degree Bounds, 2016).

    Kruskal:  add the lightest edge that closes no circuit
    Prim:     grow from a root: add the lightest edge from a silo in the tree, whose degree is below delta, to
              one outside

Ties are broken by the silos' numbers, or by who is longer in the tree. They matter: two trees of the same
weight can have other degrees, and so other cycle times.
"""

from __future__ import annotations

import numpy as np
import scipy

from ...errors import ConfigError
from ...typing import Float64s, Int64s
from ..graphs import Graph


def kruskal(weights: Float64s) -> Int64s:
    """Edges of the lightest spanning tree of symmetric weights (infinite where there is no edge); fewer than
    N - 1 where the graph is not connected.

    >>> kruskal(np.array([[0, 1, 1.0], [1, 0, 1], [1, 1, 0]])).tolist()
    [[0, 1], [0, 2]]
    """
    first, second = np.triu_indices(len(weights), 1)
    weight = np.round(weights[first, second], 9)  # what differs by rounding alone is a tie
    there = np.isfinite(weight)
    first, second, weight = first[there], second[there], weight[there]
    rank = np.empty(len(weight), np.float64)
    rank[np.argsort(weight, kind="stable")] = np.arange(1, len(weight) + 1)
    tree = scipy.sparse.csgraph.minimum_spanning_tree(
        scipy.sparse.csr_array((rank, (first, second)), shape=weights.shape)
    ).tocoo()
    order = np.argsort(tree.data)
    return np.stack([tree.row[order], tree.col[order]], axis=1).astype(np.int64)


def minimum_spanning_tree(weights: Float64s) -> Int64s:
    """Edges of the lightest spanning tree (Kruskal), of a graph that has one."""
    edges = kruskal(weights)
    if len(edges) < len(weights) - 1:
        raise ConfigError(
            "no tree joins all silos, because too many pairs can talk in one direction only; a directed "
            "overlay may exist: try 'search'."
        )
    return edges


def prim(weights: Float64s, limit: int | None = None, root: int = 0) -> Int64s:
    """Edges (in tree, new) of a spanning tree in the order they were added; fewer than N - 1 edges where the
    limit on degrees, or missing edges (infinite weights), leave silos outside.

    >>> prim(np.array([[0, 1, 4.0], [1, 0, 2], [4, 2, 0]])).tolist()
    [[0, 1], [1, 2]]
    """
    return _Growing(np.round(weights, 9), limit or len(weights), root).edges()


class _Growing:
    """A tree that grows; of equally light edges it takes that of the silo that has been in it longest."""

    def __init__(self, weights: Float64s, limit: int, root: int) -> None:
        self.weights, self.limit, self.inside = weights, limit, [root]
        size = len(weights)
        self.outside, self.degree = np.arange(size) != root, np.zeros(size, np.int64)
        self.cost, self.host = weights[root].copy(), np.full(size, root)
        self.since = np.full(size, size)
        self.since[root] = 0

    def edges(self) -> Int64s:
        """All edges, in the order they were added."""
        added: list[tuple[int, int]] = []
        while (edge := self._lightest()) is not None:
            added.append(edge)
            self._add(*edge)
        return np.array(added, np.int64).reshape(-1, 2)

    def _lightest(self) -> tuple[int, int] | None:
        cost = np.where(self.outside, self.cost, np.inf)
        least = cost.min()
        if not np.isfinite(least):
            return None
        ties = np.flatnonzero(cost == least)
        new = ties[np.argmin(self.since[self.host[ties]])]
        return int(self.host[new]), int(new)

    def _add(self, old: int, new: int) -> None:
        self.outside[new] = False
        self.since[new] = len(self.inside)
        self.inside.append(new)
        self.degree[[old, new]] += 1
        if self.degree[new] < self.limit:
            nearer = self.weights[new] < self.cost
            self.cost[nearer], self.host[nearer] = self.weights[new][nearer], new
        if self.degree[old] >= self.limit:
            self._look_elsewhere(old)

    def _look_elsewhere(self, full: int) -> None:
        """Silos outside that counted on one with no room left find another."""
        lost = np.flatnonzero((self.host == full) & self.outside)
        hosts = np.array([silo for silo in self.inside if self.degree[silo] < self.limit], np.int64)
        self.cost[lost] = np.inf
        if len(hosts) and len(lost):
            offers = self.weights[np.ix_(hosts, lost)]
            self.cost[lost], self.host[lost] = offers.min(axis=0), hosts[offers.argmin(axis=0)]


def to_undirected(edges: Int64s, size: int) -> Graph:
    """Arcs in both directions of every edge."""
    arcs = np.zeros((size, size), bool)
    arcs[edges[:, 0], edges[:, 1]] = arcs[edges[:, 1], edges[:, 0]] = True
    return arcs


def tree_neighbors(edges: Int64s, size: int) -> list[list[int]]:
    """Who is joined with whom, in the order of the edges."""
    near: list[list[int]] = [[] for _ in range(size)]
    for a, b in edges.tolist():
        near[a].append(b)
        near[b].append(a)
    return near


def cube_path(edges: Int64s, size: int) -> list[int]:
    """A path through all silos whose steps join silos at most three tree edges apart (Sekanina, On an
    Ordering of the Set of Vertices of a Connected Graph, 1960; Karaganis, On the Cube of a Graph, 1968).

    Cut the tree at an edge {u, v}; walk u's part from u to a neighbor of u, then v's part backwards, from a
    neighbor of v to v. The step between the two neighbors spans three edges at most.

    >>> cube_path(np.array([[0, 1], [0, 2], [0, 3]]), 4)
    [0, 3, 2, 1]
    """
    if size == 1:
        return [0]
    near = [set(neighbors) for neighbors in tree_neighbors(edges, size)]
    path: list[int] = []
    tasks: list[tuple[int, int | None, bool]] = [(int(edges[0, 0]), int(edges[0, 1]), False)]
    while tasks:  # a stack instead of recursion, because trees may be paths of thousands of silos
        u, v, backwards = tasks.pop()
        if v is None:
            path.append(u)
            continue
        near[u].discard(v)
        near[v].discard(u)
        halves = [_half(u, near, backwards), _half(v, near, not backwards)]
        tasks.extend(halves if backwards else halves[::-1])
    return path


def _half(start: int, near: list[set[int]], backwards: bool) -> tuple[int, int | None, bool]:
    """The path of one part, from `start` to a neighbor (or back)."""
    return start, min(near[start], default=None), backwards
