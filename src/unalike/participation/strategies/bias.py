"""The biased objective of intermittent clients, and its distance from the true one.

With weights q_k for whoever is there, training minimizes not F = sum alpha_k F_k but F_B = sum p_k F_k,

    p_k = pi_k q_k / sum_h pi_h q_h,

and, for L-smooth and mu-strongly convex F_k with condition number kappa = L / mu (Rodio, Faticanti, Marfoq,
Neglia and Leonardi, "Federated Learning under Heterogeneous and Correlated Client Availability", 2023),

    F(w) - F* <= 2 kappa^2 (optimization error of F_B  +  bias error),
    bias error <= kappa^2 chi2(alpha || p) Gamma      and      bias error <= 4 kappa^2 TV(alpha, p)^2 Gamma'.

Gamma = max_k F_k(w*) - F_k* and Gamma' = max_k F_k(w_B*) - F_k* say how unlike the clients are. The
optimization error has a bound of its own, see :mod:`.optimization_error`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Float64s


def biased_importance(active: ArrayLike, weights: ArrayLike) -> Float64s:
    """What each client really counts (p), given how often it is there and its weight when it is.

    >>> biased_importance([0.9, 0.1], [0.5, 0.5])
    array([0.9, 0.1])
    """
    mass = np.asarray(active, np.float64) * np.asarray(weights, np.float64)
    total = mass.sum()
    if not (np.isfinite(total) and total > 0 and mass.min() >= 0):
        raise ConfigError(
            "weights must be finite and not negative, and somebody with weight must be available."
        )
    return mass / total


def unreachable(importance: ArrayLike, active: ArrayLike) -> float:
    """The importance of clients that are never there: no weights can make them count.

    >>> unreachable([0.5, 0.25, 0.25], [0.9, 0.5, 0.0])
    0.25
    """
    return float(np.asarray(importance, np.float64)[np.asarray(active) == 0].sum())


def chi_square(importance: ArrayLike, biased: ArrayLike) -> float:
    """The chi-square divergence sum (alpha_k - p_k)^2 / p_k; infinite if a client that matters never counts.

    >>> chi_square([0.5, 0.5], [0.5, 0.5]), chi_square([0.5, 0.5], [1.0, 0.0])
    (0.0, inf)
    """
    alpha, p = _pair(importance, biased)
    if (alpha[p == 0] > 0).any():
        return float("inf")
    counted = p > 0
    return float(((alpha - p)[counted] ** 2 / p[counted]).sum())


def total_variation(importance: ArrayLike, biased: ArrayLike) -> float:
    """Half the sum of |alpha_k - p_k|: the importance that sits with the wrong clients.

    >>> total_variation([0.5, 0.5], [0.75, 0.25])
    0.25
    """
    alpha, p = _pair(importance, biased)
    return float(np.abs(alpha - p).sum() / 2)


def bias_bound(importance: ArrayLike, biased: ArrayLike, condition: float, heterogeneity: float) -> float:
    """The bias error is at most kappa^2 chi2(alpha || p) Gamma, with Gamma taken at the minimizer of F."""
    return _times(condition**2 * heterogeneity, chi_square(importance, biased))


def bias_bound_by_variation(
    importance: ArrayLike, biased: ArrayLike, condition: float, heterogeneity: float
) -> float:
    """The bias error is at most 4 kappa^2 TV^2 Gamma', with Gamma' taken at the minimizer of F_B; finite."""
    return 4 * condition**2 * total_variation(importance, biased) ** 2 * heterogeneity


def total_bound(optimization_error: float, bias_error: float, condition: float) -> float:
    """The error of the target is at most 2 kappa^2 times the sum of both errors."""
    return 2 * condition**2 * (optimization_error + bias_error)


def _times(factor: float, divergence: float) -> float:
    # Clients that are alike (factor zero) leave no bias, however their importance is spread.
    return 0.0 if factor == 0 else factor * divergence


def _pair(importance: ArrayLike, biased: ArrayLike) -> tuple[Float64s, Float64s]:
    alpha, p = np.asarray(importance, np.float64), np.asarray(biased, np.float64)
    if alpha.shape != p.shape:
        raise ConfigError(f"importances of {alpha.size} and {p.size} clients cannot be compared.")
    return alpha, p
