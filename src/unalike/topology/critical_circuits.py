"""Critical circuits in max-plus algebra.

A circuit passes no silo twice. That is hard to demand of many silos, so that three answers are given, each at
least as high as the one before and none above the truth:

    walks      of at most N arcs, which may pass silos again and again: cubic time
    no turns   walks that never go back where they just came from, unless they are a pair of arcs: N^4
    circuits   by the lightest paths over all sets of silos (Held, Karp, 1962): 2^N N^3
"""

from __future__ import annotations

import numpy as np

from ..typing import Float64s

TURNS = 60
"""Up to so many silos, walks that turn are left out."""
SETS = 7
"""Up to so many silos, all circuits are looked at, again and again."""


def lightest_circuits(weights: Float64s, sets: int = SETS) -> Float64s:
    """For every arc, a lower bound on the sum of weights of circuits through it (infinite weight: no arc);
    the best of the three that can be afforded; `sets` is up to how many silos all circuits are looked at.

    >>> lightest_circuits(np.array([[np.inf, 1, np.inf], [np.inf, np.inf, -5], [2, -1, np.inf]])).tolist()[0]
    [inf, -2.0, inf]
    """
    if len(weights) <= sets:
        return by_sets(weights)
    return without_turns(weights) if len(weights) <= TURNS else by_walks(weights)


def by_walks(weights: Float64s) -> Float64s:
    """Over closed walks of at most N arcs."""
    return weights + lightest_walks(weights, len(weights) - 1).T


def without_turns(weights: Float64s) -> Float64s:
    """Over closed walks of at most N arcs that do not turn round, and pairs of arcs.

    Of the walks from j to every silo, the lightest is kept, and the lightest that comes from another silo.
    """
    silos = np.arange(len(weights))
    least = np.where(np.eye(len(weights), dtype=bool), 0.0, np.inf)
    other, came_from = np.full_like(least, np.inf), np.full(least.shape, -1)
    found = weights + weights.T
    for arcs in range(1, len(weights)):
        turning = came_from[:, :, None] == silos
        longer = np.where(turning, other[:, :, None], least[:, :, None]) + weights
        came_from = longer.argmin(axis=1)
        least = np.take_along_axis(longer, came_from[:, None], axis=1)[:, 0]
        np.put_along_axis(longer, came_from[:, None], np.inf, axis=1)
        other = longer.min(axis=1)
        if arcs > 1:
            straight = np.where(came_from == silos[:, None], other, least)
            found = np.minimum(found, straight.T + weights)
    return found


def by_sets(weights: Float64s) -> Float64s:
    """Over all circuits: `paths[j, v]` of a set is the lightest path from j to v through exactly that set."""
    size = len(weights)
    sets = np.arange(1 << size)
    members = sets[:, None] >> np.arange(size) & 1
    paths = np.full((1 << size, size, size), np.inf)
    paths[1 << np.arange(size), np.arange(size), np.arange(size)] = 0.0
    for count in range(1, size):
        here = sets[members.sum(axis=1) == count]
        onward = (paths[here][..., None] + weights).min(axis=2)
        for new in range(size):
            free = members[here, new] == 0
            paths[here[free] | 1 << new, :, new] = onward[free, :, new]
    return weights + paths.min(axis=0).T


def lightest_walks(weights: Float64s, arcs: int) -> Float64s:
    """The least sum of weights over walks of at most so many arcs between all pairs, by repeated squaring."""
    step = np.minimum(weights, np.where(np.eye(len(weights), dtype=bool), 0.0, np.inf))
    total = np.where(np.eye(len(weights), dtype=bool), 0.0, np.inf)
    while arcs:
        if arcs & 1:
            total = _min_plus(total, step)
        arcs >>= 1
        step = _min_plus(step, step) if arcs else step
    return total


def _min_plus(a: Float64s, b: Float64s) -> Float64s:
    return np.stack([(row[:, None] + b).min(axis=0) for row in a])
