"""Gradient dissimilarity of clients, at and away from stationary points.

The bounds of client sampling assume that, for some b^2 >= 1 and kappa^2 >= 0, at every model

    sum_i p_i |grad f_i|^2  <=  b^2 |grad f|^2 + kappa^2.

Many pairs fit what is seen on the way of a training. Two ends are of use: b^2 = 1 with the largest spread
that is seen, and the kappa^2 of the optimum, which no pair can go below, with the least b^2 that goes with
it. The first is better for bounds that multiply steps by b^2, the second for those with a term in kappa^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Dissimilarity(NamedTuple):
    """A pair of the assumption."""

    growth: float
    """b^2."""
    floor: float
    """kappa^2."""


def without_growth(common: ArrayLike, mean: ArrayLike) -> Dissimilarity:
    """b^2 = 1, and the largest sum_i p_i |grad f_i|^2 - |grad f|^2 of models with these squared gradients:
    the common one's, and the mean of clients'.

    >>> without_growth([0.0, 1.0], [0.5, 3.0])
    Dissimilarity(growth=1.0, floor=2.0)
    """
    spread = np.asarray(mean, np.float64) - np.asarray(common, np.float64)
    return Dissimilarity(1.0, float(np.maximum(spread, 0.0).max()))


def least_floor(common: ArrayLike, mean: ArrayLike, at_optimum: float) -> Dissimilarity:
    """The kappa^2 of the optimum, and the least b^2 that fits these models with it.

    >>> least_floor([1.0, 4.0], [3.0, 4.5], at_optimum=0.5)
    Dissimilarity(growth=2.5, floor=0.5)
    """
    x, above = np.asarray(common, np.float64), np.asarray(mean, np.float64) - at_optimum
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(above > 0, above / x, 0.0)
    return Dissimilarity(max(1.0, float(needed.max(initial=1.0))), at_optimum)
