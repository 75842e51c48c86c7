"""Slower solvers for importances of data streams: majorization and projected gradients.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023), recommend projected gradients for
their bounds psi and phi (:mod:`.optimal_importance`). The steps here replace each root by the parabola that
touches it,

    x <= x^2 / (2 a) + a / 2,     equal where x = a,

whose minimizer is known client by client, so that the bound never rises. They also answer where clients
should count something else than their shares of rows.
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
    phi,
    psi,
    share_out,
)
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


def general_importance(
    shares: ArrayLike,
    fresh: ArrayLike,
    target: ArrayLike,
    terms: Terms,
    steps: int = 10_000,
    tolerance: float = 1e-12,
) -> Float64s:
    """The importances that minimize phi, for any target.

    Each root is replaced by the parabola that touches it (x <= x^2 / 2a + a/2), whose minimizer is known
    client by client; phi never rises from step to step.

    >>> general_importance([0.5, 0.5], [False, False], [0.7, 0.3], Terms(0.0, 1.0, 0.0)).round(6)
    array([0.7, 0.3])
    """
    n, is_fresh = check_shares(shares, fresh, terms.samples)
    alpha = np.asarray(target, np.float64)
    starts = [n] if not is_fresh.any() or is_fresh[n > 0].all() else [n, share_out(1.0, n, is_fresh)]
    found = [_descend(start, n, is_fresh, alpha, terms, steps, tolerance) for start in starts]
    return min(found, key=lambda p: float(phi(p, n, is_fresh, alpha, terms)))


def _descend(
    p: Float64s, n: Float64s, fresh: Bools, alpha: Float64s, terms: Terms, steps: int, tolerance: float
) -> Float64s:
    allowed = p > 0
    for _ in range(steps):
        noise, spread = float(fresh_norm(p, fresh)), math.sqrt(float(imbalance(p, n)))
        with np.errstate(divide="ignore"):
            curvature = terms.samples / (n * spread)
            if noise > 0:
                curvature = curvature + np.where(fresh, terms.noise / noise, 0.0)
        new = _touching(np.maximum(curvature, 1e-12), np.where(allowed, alpha, 0.0), terms.distance, allowed)
        if np.abs(new - p).max() < tolerance:
            return new
        p = new
    return p


def _touching(curvature: Float64s, alpha: Float64s, slope: float, allowed: Bools) -> Float64s:
    """The p on the simplex that minimizes sum_m curvature_m p_m^2 / 2 + slope |p_m - alpha_m|."""

    def at(level: float) -> Float64s:
        below = np.clip((level + slope) / curvature, 0.0, alpha)
        return np.where(allowed, below + np.maximum((level - slope) / curvature - alpha, 0.0), 0.0)

    if slope == 0:
        p = np.where(allowed, 1 / curvature, 0.0)
        return p / p.sum()
    low, high = -slope, slope + float(curvature[allowed].max()) * 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle).sum() < 1 else (low, middle)
    p = at(high)
    return p / p.sum()


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
