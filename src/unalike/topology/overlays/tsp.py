"""Traveling salesman tours through all silos.

Christofides (Worst-Case Analysis of a New Heuristic for the Traveling Salesman Problem, 1976): a minimum
spanning tree, plus a lightest perfect matching of its silos of odd degree, is a graph whose Euler circuit,
with repeated silos skipped, is at most 3/2 times longer than the best tour under the triangle inequality.
Many odd silos are matched among near neighbors only, because the matching takes cubic time; then the tour is
improved by reversing and moving segments (Croes, 1958; Or, 1976).
"""

from __future__ import annotations

import lazy_loader as lazy
import numpy as np

from ...typing import Bools, Float64s, Int64s
from .spanning_trees import kruskal

nx = lazy.load("networkx")  # slow to import, and every run imports this module
EXACT_MATCHING = 120
"""So many odd silos are matched over all pairs; more are matched among their nearest."""
NEAREST = 6
SEGMENTS = (1, 2, 3)


def christofides(weights: Float64s) -> Int64s:
    """A tour of symmetric weights, as the silos in order, from the first.

    >>> christofides(np.abs(np.arange(5.0)[:, None] - np.arange(5))).tolist()
    [0, 4, 3, 2, 1]
    """
    size = len(weights)
    if size <= 3:
        return np.arange(size)
    tree = kruskal(weights)
    odd = np.flatnonzero(np.bincount(tree.ravel(), minlength=size) % 2)
    graph = nx.MultiGraph()
    graph.add_edges_from(sorted(tree.tolist()))
    graph.add_edges_from(_matching(odd, weights))
    walk = [int(edge[0]) for edge in nx.eulerian_circuit(graph, source=0)]
    return _best_shortcut(walk, weights)


def _best_shortcut(walk: list[int], weights: Float64s) -> Int64s:
    """The shortest of the tours that skip repeated silos, over all places where the walk may start."""
    starts = (np.array(list(dict.fromkeys(walk[k:] + walk[:k]))) for k in range(len(walk)))
    tour = min(starts, key=lambda tour: round(tour_length(tour, weights), 9))
    return np.roll(tour, -int(np.flatnonzero(tour == 0)[0]))


def _matching(odd: Int64s, weights: Float64s) -> list[tuple[int, int]]:
    """A light perfect matching of the silos of odd degree."""
    among = weights[np.ix_(odd, odd)]
    pairs = np.argwhere(np.triu(_candidates(among), 1))
    graph = nx.Graph()
    graph.add_weighted_edges_from((i, j, among[i, j]) for i, j in pairs.tolist())
    return sorted((int(odd[min(pair)]), int(odd[max(pair)])) for pair in nx.min_weight_matching(graph))


def _candidates(among: Float64s) -> Bools:
    """Pairs worth matching: all, or the nearest and those of a greedy matching, so that one is perfect."""
    size = len(among)
    if size <= EXACT_MATCHING:
        return np.ones(among.shape, bool)
    far = among + np.diag(np.full(size, np.inf))
    near = np.zeros(among.shape, bool)
    near[np.arange(size)[:, None], np.argsort(far, axis=1)[:, :NEAREST]] = True
    free = np.ones(size, bool)
    for flat in np.argsort(far, axis=None, kind="stable"):
        i, j = divmod(int(flat), size)
        if free[i] and free[j] and i != j:
            free[i] = free[j] = False
            near[i, j] = True
    return near | near.T


def shorten(tour: Int64s, weights: Float64s, nearest: int = 8) -> Int64s:
    """The tour improved by 2-opt and Or-opt moves between near silos until none helps; never longer.

    >>> shorten(np.array([0, 2, 1, 3]), np.abs(np.arange(4.0)[:, None] - np.arange(4))).tolist()
    [0, 1, 2, 3]
    """
    if len(tour) < 4:
        return tour
    far = weights + np.diag(np.full(len(weights), np.inf))
    near = np.argsort(far, axis=1, kind="stable")[:, : min(nearest, len(tour) - 1)]
    improved = True
    while improved:
        tour, reversed_ = _reverse(tour, weights, near)
        tour, moved = _move(tour, weights, near)
        improved = reversed_ or moved
    return tour


def tour_length(tour: Int64s, weights: Float64s) -> float:
    """The sum of weights around a tour."""
    return float(weights[tour, np.roll(tour, -1)].sum())


def _positions(tour: Int64s) -> Int64s:
    where = np.empty_like(tour)
    where[tour] = np.arange(len(tour))
    return where


def _reverse(tour: Int64s, weights: Float64s, near: Int64s) -> tuple[Int64s, bool]:
    """2-opt: replace two steps (a, b) and (c, d) by (a, c) and (b, d), for all a and c that are near."""
    after = np.roll(tour, -1)[_positions(tour)]
    a = np.repeat(np.arange(len(tour)), near.shape[1])
    c = near.ravel()
    gain = weights[a, after[a]] + weights[c, after[c]] - weights[a, c] - weights[after[a], after[c]]
    changed = False
    for k in _promising(gain, weights):
        better = _apply_two_opt(tour, int(a[k]), int(c[k]), weights)
        changed, tour = changed or better is not None, tour if better is None else better
    return tour, changed


def _apply_two_opt(tour: Int64s, a: int, c: int, weights: Float64s) -> Int64s | None:
    """The tour after one 2-opt move, if it still helps."""
    first, second = sorted((int(np.flatnonzero(tour == a)[0]), int(np.flatnonzero(tour == c)[0])))
    a, b, c, d = (int(tour[p % len(tour)]) for p in (first, first + 1, second, second + 1))
    if weights[a, b] + weights[c, d] - weights[a, c] - weights[b, d] <= _noise(weights):
        return None
    return np.concatenate([tour[: first + 1], tour[first + 1 : second + 1][::-1], tour[second + 1 :]])


def _move(tour: Int64s, weights: Float64s, near: Int64s) -> tuple[Int64s, bool]:
    """Or-opt: move one to three silos in a row to a place between two others, in either direction."""
    changed = False
    for length in (n for n in SEGMENTS if n <= len(tour) - 3):
        where, size = _positions(tour), len(tour)
        s = np.repeat(np.arange(size), near.shape[1])
        j = near.ravel()
        before, e = tour[(where[s] - 1) % size], tour[(where[s] + length - 1) % size]
        after, k = tour[(where[s] + length) % size], tour[(where[j] + 1) % size]
        saved = weights[before, s] + weights[e, after] - weights[before, after] + weights[j, k]
        gain = saved - np.minimum(weights[j, s] + weights[e, k], weights[j, e] + weights[s, k])
        for move in _promising(gain, weights):
            better = _apply_or_opt(tour, int(s[move]), length, int(j[move]), weights)
            changed, tour = changed or better is not None, tour if better is None else better
    return tour, changed


def _apply_or_opt(tour: Int64s, s: int, length: int, j: int, weights: Float64s) -> Int64s | None:
    """The tour after one Or-opt move, if it still helps."""
    turned = np.roll(tour, -int(np.flatnonzero(tour == s)[0]))
    segment, rest = turned[:length], turned[length:]
    place = np.flatnonzero(rest == j)
    if not len(place):
        return None
    k, e = int(rest[(place[0] + 1) % len(rest)]), int(segment[-1])
    before, after = int(rest[-1]), int(rest[0])
    saved = weights[before, s] + weights[e, after] - weights[before, after] + weights[j, k]
    straight, turned_round = weights[j, s] + weights[e, k], weights[j, e] + weights[s, k]
    if saved - min(straight, turned_round) <= _noise(weights) or j == before:
        return None
    inserted = segment if straight <= turned_round else segment[::-1]
    return np.concatenate([rest[: place[0] + 1], inserted, rest[place[0] + 1 :]])


def _promising(gain: Float64s, weights: Float64s) -> Int64s:
    """Moves that help, the best first."""
    better = np.flatnonzero(gain > _noise(weights))
    return better[np.argsort(-gain[better], kind="stable")]


def _noise(weights: Float64s) -> float:
    return 1e-9 * float(weights[0, 1:].max())
