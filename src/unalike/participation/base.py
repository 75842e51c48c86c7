"""Who takes part in a round, and how much does each count?

A participation draws a :class:`Cohort`: clients and the weights of their uploads. A user's own is a class
with a `draw` method; one that learns from what it sees also overrides `observe`, `state` and `restore`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..registry import Registry


class Cohort(NamedTuple):
    """The clients of a round (distinct, by number) and the weights of their uploads."""

    clients: NDArray[np.int64]
    weights: NDArray[np.float64]


class Participation:
    """Draws a cohort each round."""

    def draw(self, round: int, importance: NDArray[np.float64], rng: np.random.Generator) -> Cohort:
        """The cohort of a round; `importance` has one entry per client and sums to one, `rng` belongs to
        this round alone."""
        raise NotImplementedError

    def observe(self, round: int, cohort: Cohort, reports: Mapping[str, NDArray[np.float64]]) -> None:
        """Learn from what the cohort reported (nothing, by default)."""

    def state(self) -> dict[str, NDArray[Any]]:
        """What must be saved so that a resumed run draws the same cohorts."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """The inverse of :meth:`state`."""


participations: Registry[Participation] = Registry("participation")
