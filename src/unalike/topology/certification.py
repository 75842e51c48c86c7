"""Certification of overlays: optimality gaps.

Branch and bound asks whether any overlay has a cycle time of at most t. Fewer arcs are never slower (they add
no circuit and lower degrees), so only arcs that must be there matter: take a set of silos that the arcs so
far do not leave; some arc must leave it; try each, the lightest first, without those that were tried before.
Rules that strike out arcs (:mod:`.bounds`) cut most of the tree. Where the question is answered with no, t is
a certified lower bound; with yes, there is a better overlay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .bounds import Choices, all_choices, lower_bound, narrow
from .delays import single_delays
from .graphs import Graph
from .overlay import Overlay
from .strong_connectivity import is_strong
from .underlays.connectivity import Connectivity

EFFORT, BRANCHED = 500, 30
"""Sets of choices that are looked at, and silos up to which branch and bound is worth its time."""
CLOSED = 1e-6
"""A relative gap that counts as none."""

Progress = Callable[[str, float], None]
"""Told what is done, and which part of it is behind (0 to 1)."""


@dataclass(frozen=True)
class Certificate:
    """An overlay, and a time that no overlay undercuts."""

    overlay: Overlay
    upper: float
    """Its cycle time in ms."""
    lower: float
    """No overlay's cycle time is below, in ms."""
    explored: int
    """How many sets of choices were looked at."""

    @property
    def gap(self) -> float:
        """By which part of the lower bound the overlay may be slower than the best."""
        return self.upper / self.lower - 1 if self.lower > 0 else float(self.upper > 0)

    @property
    def optimal(self) -> bool:
        """Whether no overlay is faster."""
        return self.gap <= CLOSED * 10


def certify(
    connectivity: Connectivity, overlay: Overlay, nodes: int | None = None, progress: Progress | None = None
) -> Certificate:
    """Bound the best cycle time from below, improving the overlay where a better one turns up.

    Looks at no more than about `nodes` sets of choices (500 up to 30 silos, none of more, of which it rarely
    closes anything); a gap that is left says that the question was too hard.
    """
    nodes = (EFFORT if len(connectivity) <= BRANCHED else 0) if nodes is None else nodes
    upper = overlay.cycle_time(connectivity) if overlay.hub is None else np.inf
    if not np.isfinite(upper):
        overlay = Overlay(overlay.arcs, overlay.name, overlay.notes)
        upper = overlay.cycle_time(connectivity)
    lower, explored, share = lower_bound(connectivity, upper), 0, 0.0
    while explored < nodes and upper > lower * (1 + CLOSED):
        limit = upper * (1 - CLOSED / 2) if share == 0 else lower + (upper - lower) * share
        answer = decide(connectivity, limit, max((nodes - explored) // 3, 1))
        explored += answer.explored
        if progress is not None:
            progress("proving", min(explored / nodes, 1.0))
        if answer.found is not None:
            overlay = Overlay(answer.found, overlay.name, overlay.notes)
            upper, share = overlay.cycle_time(connectivity), 0.0
        elif answer.refuted:
            lower, share = max(lower, limit), share if share else 1.0
        else:
            share = (share or 1.0) / 2
    return Certificate(overlay, upper, min(lower, upper), explored)


@dataclass(frozen=True, eq=False)
class Answer:
    """Whether an overlay with at most some cycle time exists: `found`, `refuted`, or neither (given up)."""

    found: Graph | None
    refuted: bool
    explored: int


def decide(connectivity: Connectivity, limit: float, nodes: int) -> Answer:
    """Is there an overlay with a cycle time of at most `limit`?"""
    weights = single_delays(connectivity)
    stack, explored = [iter([all_choices(connectivity)])], 0
    while stack:
        case = next(stack[-1], None)
        if case is None:
            stack.pop()
            continue
        if explored >= nodes:
            return Answer(None, False, explored)
        explored += 1
        left = narrow(connectivity, limit, case)
        if left is None:
            continue
        if is_strong(left.forced):
            return Answer(left.forced, False, explored)
        stack.append(_branches(left, weights))
    return Answer(None, True, explored)


def _branches(left: Choices, weights: np.ndarray) -> Iterator[Choices]:
    """One case for each arc that may be the lightest to leave a set of silos, the most promising first; made
    when it is asked for, because tables of all cases of many silos would fill the memory."""
    cut = _narrowest_cut(left)
    for i, j in sorted(np.argwhere(cut).tolist(), key=lambda arc: weights[arc[0], arc[1]]):
        yield left.with_arc(i, j)
        left = left.without_arc(i, j)


def _narrowest_cut(left: Choices) -> Graph:
    """The fewest allowed arcs of which one must be there: those that leave (or enter) what some silo reaches
    (or what reaches it) by arcs that must be there."""
    reach = left.forced | np.eye(len(left.forced), dtype=bool)
    for _ in range(len(reach).bit_length()):
        reach = (reach.astype(np.int64) @ reach) > 0
    cuts = []
    for silo in range(len(reach)):
        for inside, outward in ((reach[silo], True), (reach[:, silo], False)):
            if not inside.all():
                ends = (inside[:, None], ~inside) if outward else (~inside[:, None], inside)
                cuts.append(left.allowed & ends[0] & ends[1])
    return min(cuts, key=lambda cut: int(cut.sum()))
