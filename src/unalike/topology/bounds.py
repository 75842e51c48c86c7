"""Lower bounds on the cycle time of overlays.

An overlay with cycle time at most t is a strongly connected digraph without a circuit of mean delay above t.
Whether one exists is asked by striking out arcs that it cannot have, knowing arcs that it must have:

1. Nobody's round is shorter than its computing, so s T_c(i) <= t for every silo.
2. Degrees are at least those of arcs it must have, and delays grow with degrees, so delays with these degrees
   are lower bounds; an arc that is not among them comes on top of them.
3. In a strongly connected digraph every arc is on a circuit of at most N arcs, whose mean is at most t. So an
   arc is struck out if no circuit through it of arcs that are left can have a mean of at most t; circuits are
   bounded from below by walks, and exactly for few silos (:mod:`.circuits`).
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

from ..typing import Float64s
from .critical_circuits import SETS, lightest_circuits, lightest_walks
from .delays import computing, delays_of, single_delays
from .graphs import Graph
from .strong_connectivity import is_strong
from .underlays.connectivity import Connectivity

WALKS = 150
"""Up to so many silos, circuits through arcs are sought (rule 3), which takes at least cubic time."""
ONCE = 12
"""Up to so many silos, all circuits are looked at while nothing is decided."""
SLACK = 1e-9
"""Relative rounding that is forgiven, always in favor of keeping an arc."""


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


def narrow(connectivity: Connectivity, limit: float, choices: Choices, sets: int = SETS) -> Choices | None:
    """What is left for overlays with a cycle time of at most `limit`, or None if there is none; up to `sets`
    silos, all circuits are looked at."""
    slack = SLACK * max(limit, 1e-300)
    if computing(connectivity).max(initial=0.0) > limit + slack:
        return None
    allowed, forced = choices.allowed, choices.forced
    while True:
        excess = _excess(connectivity, limit, allowed, forced)
        kept = _lie_on_circuits(excess, slack, sets)
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


def _excess(connectivity: Connectivity, limit: float, allowed: Graph, forced: Graph) -> Float64s:
    """Lower bounds of delays minus the limit, infinite where an arc is struck out (rule 2)."""
    sent, heard = forced.sum(axis=1), forced.sum(axis=0)
    present = delays_of(connectivity, np.maximum(sent, 1), np.maximum(heard, 1))
    on_top = delays_of(connectivity, sent + 1, heard + 1)
    return np.where(allowed, np.where(forced, present, on_top) - limit, np.inf)


def _lie_on_circuits(excess: Float64s, slack: float, sets: int) -> Graph:
    """Arcs that may be on a circuit of mean at most the limit (rules 3 and 4)."""
    size = len(excess)
    kept = np.isfinite(excess) & (_cheapest_choice(excess) <= slack * size)
    entering = _cheapest_choice(excess.T).T
    kept &= entering <= slack * size
    if size <= WALKS and kept.any():
        left = np.where(kept, excess, np.inf)
        kept &= lightest_circuits(left, sets) <= slack * size
    return kept


def _cheapest_choice(excess: Float64s) -> Float64s:
    """For every arc (i, j): its excess, the least out of j, and those of other silos that help."""
    least = excess.min(axis=1)
    helps = np.minimum(least, 0.0)
    with np.errstate(invalid="ignore"):
        return excess + least + helps.sum() - helps[:, None] - helps


def _longest_forced(excess: Float64s, forced: Graph, slack: float) -> Float64s | None:
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

    >>> from unalike.topology import connect
    >>> bool(90 < lower_bound(connect("gaia"), 118.1) < 118.1)
    True
    """
    low = float(computing(connectivity).max())
    if len(connectivity) > 1:
        low = max(low, lightest_round(connectivity))
    low = _bisect(connectivity, low, upper, precision, SETS)
    return _bisect(connectivity, low, upper, precision, ONCE) if SETS < len(connectivity) <= ONCE else low


def _bisect(connectivity: Connectivity, low: float, high: float, precision: float, sets: int) -> float:
    """The largest time found for which nothing is left."""
    nothing, gap = all_choices(connectivity), precision * high
    while high - low > gap:
        middle = (low + high) / 2
        left = narrow(connectivity, middle, nothing, sets)
        low, high = (middle, high) if left is None else (low, middle)
    return low


def lightest_round(connectivity: Connectivity) -> float:
    """The mean of a circuit is at least the least delay of its arcs, and every silo is on a circuit: no cycle
    time is below the least delay of all arcs."""
    delays = np.where(connectivity.possible, single_delays(connectivity), np.inf)
    return float(delays.min())
