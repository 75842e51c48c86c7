"""Closed forms of the bound psi: the cost of fresh and historical data.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023), draw them as curves. With fresh
clients of equal size, f the historical share of rows and kappa = c2/c1 sqrt(F), in units of c1 / sqrt(F),

    psi(h) = 1 - h + kappa sqrt(1 + (h - f)^2 / (f (1 - f)))

if historical clients count h together. Uniform (h = f) and historical (h = 1) cost the same where kappa =
f + sqrt(f); below kappa = sqrt(f) historical data alone are best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unalike.data.streams.optimal_importance import best_historical_share
from unalike.typing import Float64s


def bound_at(historical: ArrayLike, fraction: ArrayLike, kappa: ArrayLike) -> Float64s:
    """psi in units of c1 / sqrt(F), if historical clients count h together.

    >>> bound_at([0.2, 1.0], 0.2, 0.75).round(4)
    array([1.55  , 1.6771])
    """
    h, f, k = (np.asarray(given, np.float64) for given in (historical, fraction, kappa))
    return 1 - h + k / np.sqrt(effective_fraction(h, f))


def effective_fraction(historical: ArrayLike, fraction: ArrayLike) -> Float64s:
    """N_eff / N, if historical clients count h together.

    >>> effective_fraction([0.2, 1.0], 0.2).round(6)
    array([1. , 0.2])
    """
    h, f = (np.asarray(given, np.float64) for given in (historical, fraction))
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(h == f, 0.0, (h - f) ** 2 / (f * (1 - f)))
    return np.asarray(1 / (1 + apart), np.float64)


def best_bound(fraction: ArrayLike, kappa: ArrayLike) -> Float64s:
    """psi of the best importances, in units of c1 / sqrt(F): 1 - f + sqrt(kappa^2 - f (1 - f)), unless
    historical data alone are best.

    >>> float(best_bound(0.2, 0.75).round(4)), float(best_bound(0.5, 0.1).round(4))
    (1.4344, 0.1414)
    """
    f, k = (np.asarray(given, np.float64) for given in (fraction, kappa))
    with np.errstate(divide="ignore"):
        inside = 1 - f + np.sqrt(np.maximum(k**2 - f * (1 - f), 0))
        return np.where((f > 0) & (k <= np.sqrt(f)), k / np.sqrt(f), inside)


def tie_fraction(kappa: ArrayLike) -> Float64s:
    """The historical share of rows at which uniform and historical cost the same; above, historical is the
    better of the two. From kappa = 2 on there is none, and uniform is never worse.

    >>> tie_fraction([0.75, 3.0])
    array([0.25,  nan])
    """
    k = np.asarray(kappa, np.float64)
    root = (np.sqrt(1 + 4 * k) - 1) / 2
    return np.where(k < 2, root**2, np.nan)


def historical_threshold(fraction: ArrayLike, fresh: ArrayLike) -> Float64s:
    """The ratio c2/c1 up to which historical data alone are best, whatever the sizes of fresh clients."""
    return np.sqrt(np.asarray(fraction, np.float64) / np.asarray(fresh, np.float64))


class ShareCurves(NamedTuple):
    """What the best importances are, against c2/c1; a row for each historical share of rows."""

    ratios: Float64s
    fractions: Float64s
    historical: Float64s
    """What historical clients count together."""
    effective: Float64s
    """N_eff / N."""
    noise: Float64s
    """sqrt(F sum_{fresh} p_m^2), 1 if only fresh clients count."""


def share_curves(ratios: ArrayLike, fractions: ArrayLike, fresh: int = 25) -> ShareCurves:
    """The curves of the best importances; fresh clients are of equal size."""
    rho, f = np.asarray(ratios, np.float64), np.asarray(fractions, np.float64)
    best = best_historical_share(f[:, None], rho[None, :] * np.sqrt(fresh))
    return ShareCurves(rho, f, best, effective_fraction(best, f[:, None]), 1 - best)


class GapCurves(NamedTuple):
    """What a strategy costs beyond another, against f; a row for each c2/c1. In units of c1 / sqrt(F)."""

    fractions: Float64s
    ratios: Float64s
    historical_over_best: Float64s
    uniform_over_best: Float64s
    historical_over_uniform: Float64s


def gap_curves(fractions: ArrayLike, ratios: ArrayLike, fresh: int = 25) -> GapCurves:
    """The curves of the gaps between historical, uniform and the best importances."""
    f, rho = np.asarray(fractions, np.float64), np.asarray(ratios, np.float64)
    kappa = rho[:, None] * np.sqrt(fresh)
    historical, uniform, best = bound_at(1.0, f, kappa), bound_at(f, f, kappa), best_bound(f, kappa)
    return GapCurves(f, rho, historical - best, uniform - best, historical - uniform)
