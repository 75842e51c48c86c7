"""Slower solvers for importances of data streams: majorization and projected gradients.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023), recommend projected gradients for
their bounds psi and phi (:mod:`unalike.data.streams.optimal_importance`). Repeated substitution is that of
the solver for any target (:mod:`unalike.data.streams.target_importance`), without a target.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from unalike.data.streams.optimal_importance import (
    Terms,
    check_shares,
    fresh_norm,
    imbalance,
    optimal_importance,
    psi,
    share_out,
)
from unalike.data.streams.target_importance import general_importance
from unalike.typing import Bools, Float64s


def fixed_point(
    shares: ArrayLike, fresh: ArrayLike, ratio: float, steps: int = 10_000, tolerance: float = 1e-13
) -> Float64s:
    """The same by repeated substitution: p_m in proportion to 1 / (1/A + ratio / (n_m B)) for fresh clients
    and n_m B / ratio for historical ones, where A and B are the two roots of psi. Slow next to the corner."""
    n, is_fresh = check_shares(shares, fresh, ratio)
    if ratio == 0 or math.isinf(ratio):
        return optimal_importance(n, is_fresh, ratio)
    target, terms = n, Terms(1.0, 0.0, ratio)
    return general_importance(n, is_fresh, target, terms, steps, tolerance)


def projected_gradient(shares: ArrayLike, fresh: ArrayLike, ratio: float, steps: int = 10_000) -> Float64s:
    """The same by the method the authors name, as a check; a step that raises psi is halved and tried again.

    Next to the corner where fresh clients count nothing, gradients stall; it is compared in the end.
    """
    n, is_fresh = check_shares(shares, fresh, ratio)
    p, least, length = n, float(psi(n, n, is_fresh, ratio)), 1.0
    slope = _slope(p, n, is_fresh, ratio)
    for _ in range(steps):
        new = np.where(n > 0, project(np.where(n > 0, p - length * slope, -np.inf)), 0.0)
        now = float(psi(new, n, is_fresh, ratio))
        if now < least:
            p, least, length = new, now, 1.5 * length
            slope = _slope(p, n, is_fresh, ratio)
        elif length < 1e-15:
            break
        else:
            length /= 2
    corner = share_out(1.0, n, is_fresh) if n[~is_fresh].sum() > 0 else p
    return corner if psi(corner, n, is_fresh, ratio) < least else p


def _slope(p: Float64s, n: Float64s, fresh: Bools, ratio: float) -> Float64s:
    """The gradient of psi, without the first root where that is zero."""
    noise, spread = float(fresh_norm(p, fresh)), math.sqrt(float(imbalance(p, n)))
    slope = ratio * np.divide(p, n * spread, out=np.zeros_like(p), where=n > 0)
    return slope + np.where(fresh, p / noise, 0.0) if noise > 0 else slope


def project(point: Float64s) -> Float64s:
    """The nearest point whose coordinates are not negative and sum to one.

    >>> project(np.array([1.0, 0.5]))
    array([0.75, 0.25])
    """
    ordered = np.sort(point)[::-1]
    heights = (np.cumsum(ordered) - 1) / np.arange(1, len(point) + 1)
    return np.maximum(point - heights[np.flatnonzero(ordered > heights)[-1]], 0.0)
