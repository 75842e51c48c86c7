"""Optimal importances of clients with data streams, for any target weights.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023), corollary 5.1': where the error
is judged with target weights alpha (1/M for each of M clients), not with shares n_m of rows, importances p
should minimize

    phi(p) = G D sqrt(F) sqrt(sum_{m fresh} p_m^2) + B ||alpha - p||_1
             + sqrt(d / N) sqrt(sum_m p_m^2 / n_m).

In units of c1 = G D sqrt(F) the factors are 1, delta r and (1 - delta) r: r = c2/c1, and delta is the part
of c2 that stands for the discrepancy between clients, B / (B + sqrt(d / N)). The solver's steps replace each
root by the parabola that touches it,

    x <= x^2 / (2 a) + a / 2,     equal where x = a,

whose minimizer is known client by client, so that phi never rises.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Bools, Float64s
from .optimal_importance import Terms, check_shares, fresh_norm, imbalance, phi, psi, share_out

USUAL_DISCREPANCY = 0.5
"""The part of c2 that is the discrepancy between clients, where only c2/c1 is known."""
BY_ROWS = "data"
"""The target that counts all rows alike; others are `equal` and files of one number per client."""


class Tradeoff(NamedTuple):
    """What the constants of the bound come to."""

    ratio: float
    """r = c2/c1; infinite without any noise."""
    discrepancy: float = USUAL_DISCREPANCY
    """delta, the part of c2 that is the discrepancy between clients."""

    @property
    def terms(self) -> Terms:
        """The factors of phi, up to a common one.

        >>> Tradeoff(0.5, 0.2).terms
        Terms(noise=1.0, distance=0.1, samples=0.4)
        """
        if not 0 <= self.discrepancy <= 1:
            raise ConfigError(
                f"the discrepancy's part of c2 must be from 0 to 1, but is {self.discrepancy:g}."
            )
        noise, scale = (0.0, 1.0) if math.isinf(self.ratio) else (1.0, self.ratio)
        return Terms(noise, scale * self.discrepancy, scale * (1 - self.discrepancy))


def target_bound(
    importance: ArrayLike,
    shares: ArrayLike,
    fresh: ArrayLike,
    tradeoff: Tradeoff,
    target: ArrayLike | None = None,
) -> Float64s:
    """The bound in units of c1: psi without a target, phi with one; without noise, in units of c2.

    Args:
        importance: p, along the last axis.
        shares: n_m, each client's share of all rows.
        fresh: which clients see new rows in every round.
        tradeoff: the constants.
        target: alpha; the shares of rows when not given.
    """
    if target is not None:
        return phi(importance, shares, fresh, target, tradeoff.terms)
    if math.isinf(tradeoff.ratio):
        return np.sqrt(imbalance(importance, shares))
    return psi(importance, shares, fresh, tradeoff.ratio)


def general_importance(
    shares: ArrayLike,
    fresh: ArrayLike,
    target: ArrayLike,
    terms: Terms,
    steps: int = 10_000,
    tolerance: float = 1e-12,
) -> Float64s:
    """The importances that minimize phi, for any target.

    Args:
        shares: n_m, each client's share of all rows.
        fresh: which clients see new rows in every round.
        target: alpha.
        terms: the factors of phi.
        steps: at most so many.
        tolerance: importances that change by less than this are the answer.

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
