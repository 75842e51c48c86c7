"""Optimal importances of clients with data streams: historical against fresh data.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023). Historical clients keep all
their rows; fresh ones see new rows in every round and forget the last ones. With n_m the share of all rows
that client m has over the whole run, F fresh clients and a constant c2/c1 of the problem, the importances p
(non-negative, summing to one) should minimize the part of the error bound that depends on them,

    psi(p) = sqrt(sum_{m fresh} p_m^2) + (c2/c1) sqrt(sum_m p_m^2 / n_m),

noise from rows that change against rows that count too little. Let kappa = c2/c1 sqrt(F) and f be the
historical share of rows. Where fresh clients are of equal size, historical ones get f + f(1-f) /
sqrt(kappa^2 - f(1-f)), or all if kappa <= sqrt(f); in general fresh client m gets p_m in proportion to
n_m / (1 + r n_m), with one number r that solves one equation.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Bools, Float64s

LARGEST = 1e15
"""An r beyond which fresh clients count nothing."""


# What is minimized ----------------------------------------------------------------------------------------


def fresh_norm(importance: ArrayLike, fresh: ArrayLike) -> Float64s:
    """sqrt(sum over fresh clients of p_m^2), along the last axis: the noise of gradients, up to a factor."""
    squares = np.where(np.asarray(fresh, bool), np.asarray(importance, np.float64) ** 2, 0.0)
    return np.sqrt(squares.sum(axis=-1))


def imbalance(importance: ArrayLike, shares: ArrayLike) -> Float64s:
    """sum_m p_m^2 / n_m = N / N_eff along the last axis: 1 where all rows count the same, else more.

    >>> float(imbalance([0.5, 0.5], [0.5, 0.5])), float(imbalance([1.0, 0.0], [0.25, 0.75]))
    (1.0, 4.0)
    """
    p, n = np.broadcast_arrays(np.asarray(importance, np.float64), np.asarray(shares, np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p == 0, 0.0, p**2 / n).sum(axis=-1)


def psi(importance: ArrayLike, shares: ArrayLike, fresh: ArrayLike, ratio: float) -> Float64s:
    """The bound in units of c1, without what does not depend on importances; `ratio` is c2/c1.

    >>> round(float(psi([0.2, 0.8], [0.2, 0.8], [False, True], 0.5)), 6)
    1.3
    """
    return fresh_norm(importance, fresh) + ratio * np.sqrt(imbalance(importance, shares))


class Terms(NamedTuple):
    """The factors of the three terms of :func:`phi`."""

    noise: float
    """Of sqrt(sum_{fresh} p_m^2): G D sqrt(F)."""
    distance: float
    """Of the distance from the target, ||alpha - p||_1: B."""
    samples: float
    """Of sqrt(sum_m p_m^2 / n_m): sqrt(d / N)."""


def phi(
    importance: ArrayLike, shares: ArrayLike, fresh: ArrayLike, target: ArrayLike, terms: Terms
) -> Float64s:
    """The bound where clients should count `target` (alpha), not their shares of rows.

    >>> float(phi([0.5, 0.5], [0.5, 0.5], [False, False], [1.0, 0.0], Terms(1.0, 2.0, 3.0)))
    5.0
    """
    apart = np.abs(np.asarray(importance, np.float64) - np.asarray(target, np.float64)).sum(axis=-1)
    spread = np.sqrt(imbalance(importance, shares))
    return terms.noise * fresh_norm(importance, fresh) + terms.distance * apart + terms.samples * spread


# The best importances -------------------------------------------------------------------------------------


def best_historical_share(fraction: ArrayLike, kappa: ArrayLike) -> Float64s:
    """The best importance of all historical clients together, if fresh ones are of equal size.

    `fraction` is f, the historical share of rows; kappa is c2/c1 times the root of the number of fresh ones.

    >>> best_historical_share([0.05, 0.2, 0.5], 0.15 * 5).round(2)
    array([0.12, 0.45, 0.95])
    """
    f, k = np.broadcast_arrays(np.asarray(fraction, np.float64), np.asarray(kappa, np.float64))
    both = f * (1 - f)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = f + np.where(both > 0, both / np.sqrt(np.maximum(k**2 - both, 0)), 0.0)
    return np.where((f > 0) & (k <= np.sqrt(f)), 1.0, np.minimum(inside, 1.0))


def optimal_importance(shares: ArrayLike, fresh: ArrayLike, ratio: float) -> Float64s:
    """The importances that minimize psi for clients of any sizes, to the last digits.

    >>> optimal_importance(np.full(4, 0.25), [False, False, True, True], 0.6).round(4)
    array([0.4323, 0.4323, 0.0677, 0.0677])
    """
    n, is_fresh = check_shares(shares, fresh, ratio)
    n_fresh, kept = n[is_fresh], float(n[~is_fresh].sum())
    count = np.count_nonzero(n_fresh)
    if count == 0 or math.isinf(ratio):
        return n
    if kept > 0 and ratio * math.sqrt(count) <= math.sqrt(kept):
        return share_out(1.0, n, is_fresh)
    if ratio == 0:
        return np.where(n > 0, 1 / count, 0.0)

    def excess(r: float) -> float:
        weights = n_fresh / (1 + r * n_fresh)
        spread = math.sqrt(kept + float((weights / (1 + r * n_fresh)).sum()))
        return spread / float(np.linalg.norm(weights)) - ratio * r

    high = 1.0
    while excess(high) > 0 and high < LARGEST:
        high *= 2
    if high >= LARGEST:  # next to the corner where fresh clients count nothing
        return share_out(1.0, n, is_fresh) if kept > 0 else np.where(n > 0, 1 / count, 0.0)
    r = scipy.optimize.brentq(excess, 0.0, high, xtol=1e-15, rtol=4 * np.finfo(float).eps)
    weights = np.where(is_fresh, n / (1 + r * n), n)
    return np.asarray(weights / weights.sum(), np.float64)


# Strategies -----------------------------------------------------------------------------------------------


def share_out(historical: float, sizes: ArrayLike, fresh: ArrayLike) -> Float64s:
    """Importances of which historical clients have this part, both groups in proportion to rows.

    0 is the strategy "fresh", 1 "historical", the historical share of rows "uniform".

    >>> share_out(0.5, [10, 30, 20], [False, False, True])
    array([0.125, 0.375, 0.5  ])
    """
    rows, is_fresh = np.asarray(sizes, np.float64), np.asarray(fresh, bool)
    parts = np.where(is_fresh, 1 - historical, historical)
    totals = np.where(is_fresh, rows[is_fresh].sum(), rows[~is_fresh].sum())
    if not 0 <= historical <= 1 or (parts[totals > 0] == 0).all():
        raise ConfigError(f"historical clients cannot have {historical:g} of the weight of these clients.")
    p = np.divide(parts * rows, totals, out=np.zeros_like(rows), where=totals > 0)
    return p / p.sum()


def historical_share(importance: ArrayLike, fresh: ArrayLike) -> Float64s:
    """What historical clients count together, along the last axis."""
    return np.where(np.asarray(fresh, bool), 0.0, np.asarray(importance, np.float64)).sum(axis=-1)


def check_shares(shares: ArrayLike, fresh: ArrayLike, ratio: float) -> tuple[Float64s, Bools]:
    """Shares that sum to one and who is fresh, if both and the ratio make sense."""
    n, is_fresh = np.asarray(shares, np.float64), np.asarray(fresh, bool)
    if n.ndim != 1 or n.shape != is_fresh.shape or not len(n):
        raise ConfigError(
            f"shares and fresh need one entry per client, but have {n.shape}, {is_fresh.shape}."
        )
    if not np.isfinite(n).all() or n.min() < 0 or not n.sum() > 0:
        raise ConfigError("shares of rows must not be negative or missing, nor all zero.")
    if math.isnan(ratio) or ratio < 0:
        raise ConfigError(f"the ratio c2/c1 must not be negative, but is {ratio}.")
    return n / n.sum(), is_fresh
