"""Below which time can no overlay get?

An overlay with cycle time at most t is a strongly connected digraph without a circuit of mean delay above t.
Whether one exists is asked by striking out arcs that it cannot have, knowing arcs that it must have:

1. Nobody's round is shorter than its computing, so s T_c(i) <= t for every silo.
2. Degrees are at least those of arcs it must have, and delays grow with degrees, so delays with these degrees
   are lower bounds; an arc that is not among them comes on top of them.
3. In a strongly connected digraph every arc is on a circuit of at most N arcs, whose mean is at most t. So an
   arc is struck out if no closed walk through it, of at most N arcs that are left, has a mean of at most t.
4. A circuit passes no silo twice, so it costs at least the lightest arc out of (or into) every silo on it. An
   arc is struck out if even the best choice of such silos leaves the mean above t.
5. An arc that closes a circuit of mean above t with arcs it must have is struck out.
6. A silo with one arc out (or in) left must have it.

If what is left is not strongly connected, every overlay takes longer than t. The largest such t is a
certified lower bound on the optimal cycle time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .connectivity import Connectivity
from .delays import computing, delays_of, single_delays
from .graphs import Graph
from .strongly import is_strong

Floats = NDArray[np.float64]
WALKS = 150
"""Up to so many silos, closed walks are sought (rule 3), which takes cubic time."""
SLACK = 1e-9
"""Relative rounding that is forgiven, always in favour of keeping an arc."""


@dataclass(frozen=True, eq=False)
class Choices:
    """Arcs an overlay may have, and those it must have."""

    allowed: Graph
    forced: Graph

    def with_arc(self, i: int, j: int) -> Choices:
        """The same where the arc is one it must have."""
        forced = self.forced.copy()
        forced[i, j] = True
        return Choices(self.allowed, forced)

    def without_arc(self, i: int, j: int) -> Choices:
        """The same where the arc is struck out."""
        allowed = self.allowed.copy()
        allowed[i, j] = False
        return Choices(allowed, self.forced)


def all_choices(connectivity: Connectivity) -> Choices:
    """Nothing is decided."""
    return Choices(connectivity.possible, np.zeros_like(connectivity.possible))


def narrow(connectivity: Connectivity, limit: float, choices: Choices) -> Choices | None:
    """What is left for overlays with a cycle time of at most `limit`, or None if there is none."""
    slack = SLACK * max(limit, 1e-300)
    if computing(connectivity).max(initial=0.0) > limit + slack:
        return None
    allowed, forced = choices.allowed, choices.forced
    while True:
        excess = _excess(connectivity, limit, allowed, forced)
        kept = _lie_on_circuits(excess, slack)
        longest = _longest_forced(excess, forced, slack)
        if longest is None:
            return None
        kept &= np.where(kept, excess, 0.0) + longest.T <= slack * len(allowed)
        if (forced & ~kept).any() or not is_strong(kept):
            return None
        must = forced | (kept & (kept.sum(axis=1, keepdims=True) == 1)) | (kept & (kept.sum(axis=0) == 1))
        if (kept == allowed).all() and (must == forced).all():
            return Choices(kept, must)
        allowed, forced = kept, must


def _excess(connectivity: Connectivity, limit: float, allowed: Graph, forced: Graph) -> Floats:
    """Lower bounds of delays minus the limit, infinite where an arc is struck out (rule 2)."""
    sent, heard = forced.sum(axis=1), forced.sum(axis=0)
    present = delays_of(connectivity, np.maximum(sent, 1), np.maximum(heard, 1))
    on_top = delays_of(connectivity, sent + 1, heard + 1)
    return np.where(allowed, np.where(forced, present, on_top) - limit, np.inf)


def _lie_on_circuits(excess: Floats, slack: float) -> Graph:
    """Arcs that may be on a circuit of mean at most the limit (rules 3 and 4)."""
    size = len(excess)
    kept = np.isfinite(excess) & (_cheapest_choice(excess) <= slack * size)
    entering = _cheapest_choice(excess.T).T
    kept &= entering <= slack * size
    if size <= WALKS and kept.any():
        left = np.where(kept, excess, np.inf)
        kept &= left + lightest_walks(left, size - 1).T <= slack * size
    return kept


def _cheapest_choice(excess: Floats) -> Floats:
    """For every arc (i, j): its excess, the least out of j, and those of other silos that help."""
    least = excess.min(axis=1)
    helps = np.minimum(least, 0.0)
    with np.errstate(invalid="ignore"):
        return excess + least + helps.sum() - helps[:, None] - helps


def lightest_walks(weights: Floats, arcs: int) -> Floats:
    """The least sum of weights over walks of at most so many arcs, between all pairs; by repeated
    squaring."""
    step = np.minimum(weights, np.where(np.eye(len(weights), dtype=bool), 0.0, np.inf))
    total: Floats | None = None
    while arcs:
        if arcs & 1:
            total = step if total is None else _min_plus(total, step)
        arcs >>= 1
        step = _min_plus(step, step) if arcs else step
    return np.where(np.eye(len(weights), dtype=bool), 0.0, np.inf) if total is None else total


def _min_plus(a: Floats, b: Floats) -> Floats:
    return np.stack([(row[:, None] + b).min(axis=0) for row in a])


def _longest_forced(excess: Floats, forced: Graph, slack: float) -> Floats | None:
    """The largest excess over paths of arcs it must have (rule 5); None if a circuit of them exceeds."""
    if not forced.any():
        return np.full(excess.shape, -np.inf)
    longest = -lightest_walks(np.where(forced, -excess, np.inf), len(excess))
    if (np.diag(longest) > slack * len(excess)).any():
        return None
    np.fill_diagonal(longest, -np.inf)
    return longest


def lower_bound(connectivity: Connectivity, upper: float, precision: float = 1e-4) -> float:
    """A time that no overlay undercuts, by bisection up to `upper` (the cycle time of a known overlay).

    >>> from .connectivity import connect
    >>> bool(90 < lower_bound(connect("gaia"), 118.1) < 118.1)
    True
    """
    nothing = all_choices(connectivity)
    low = float(computing(connectivity).max())
    if len(connectivity) > 1:
        low = max(low, float(lightest_round(connectivity)))
    high = upper
    while high - low > precision * upper:
        middle = (low + high) / 2
        low, high = (low, middle) if narrow(connectivity, middle, nothing) is not None else (middle, high)
    return low


def lightest_round(connectivity: Connectivity) -> float:
    """The mean of a circuit is at least the least delay of its arcs, and every silo is on a circuit: no cycle
    time is below the least delay of all arcs."""
    delays = np.where(connectivity.possible, single_delays(connectivity), np.inf)
    return float(delays.min())
