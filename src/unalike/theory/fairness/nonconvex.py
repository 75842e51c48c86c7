"""Convergence of GIFAIR without convexity, as printed and corrected (Theorem 12 of chapter 2 of Yue,
"Federated Data Analytics: Theory and Application", 2023; Theorem 41 of its appendix gives the constants).

With D = H(theta_0) - H* (the problem's initial gap) and steps eta_t, the least mean squared gradient of T
steps is at most

printed      ( 2 (1 + 2 K L^2 sum eta_t^2) D + 2 sum xi_t ) / sqrt(T),
             xi_t = 2 K L^2 eta^2 Gamma + 8 K L eta^2 G^2 + (8 eta^3 K L^2 + 4 (2 + 4 L) K L eta^4) (E-1) G^2
                    + (2 + 8 K) L eta^2 sum p_k sigma_k^2
corrected    ( 2 D + sum [ 4 eta_t^3 ((1+rho) L)^2 (E-1)^2 (1+rho)^2 G^2
                           + L eta_t^2 (1+rho)^2 sum p_k^2 sigma_k^2 ] ) / sum eta_t

for steps of at most 1 / L that fall by at most half in a round. The corrected form follows from the
smoothness of H (weights are one on average) and of the clients' weighted losses; it needs neither Gamma nor
the number of clients K, and the drift of E - 1 steps is squared, as in the convex case. Ranks are fixed. The
printed order (E-1) log(T+1) / sqrt(T) does not follow from the printed constants, which have terms without E
- 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...typing import Float64s
from .problem import FairProblem


def published_gradient_bound(problem: FairProblem, rates: Sequence[float] | Float64s, clients: int) -> float:
    """Theorem 41 as printed.

    Args:
        problem: the constants; all clients' variances are sigma^2, so that sum p_k sigma_k^2 is, too.
        rates: eta_t of every step.
        clients: K.
    """
    eta, curve = np.asarray(rates, np.float64), problem.smoothness
    square, drift = problem.squared_gradient, problem.local_steps - 1
    noise = 2 * clients * curve**2 * eta**2 * problem.heterogeneity
    steps = 8 * eta**3 * clients * curve**2 * drift + 8 * clients * curve * eta**2
    noise += (steps + 4 * (2 + 4 * curve) * clients * curve * eta**4 * drift) * square
    noise += (2 + 8 * clients) * curve * eta**2 * problem.gradient_variance
    first = 2 * (1 + 2 * clients * curve**2 * float((eta**2).sum())) * problem.initial_gap
    return (first + 2 * float(noise.sum())) / math.sqrt(len(eta))


def gradient_bound(problem: FairProblem, rates: Sequence[float] | Float64s) -> float:
    """The corrected bound for steps eta_t; infinite where one is longer than 1 / L."""
    eta = np.asarray(rates, np.float64)
    if not (eta > 0).all() or eta.max() > 1 / problem.smoothness:
        return math.inf
    squared = (1 + problem.pressure) ** 2
    drift = (problem.local_steps - 1) ** 2 * squared * problem.squared_gradient
    noise = squared * problem.squared_weights * problem.gradient_variance
    added = 4 * eta**3 * problem.steepest**2 * drift + problem.smoothness * eta**2 * noise
    return float((2 * problem.initial_gap + added.sum()) / eta.sum())


def published_rate(local_steps: int, steps: int) -> float:
    """(E-1) log(T+1) / sqrt(T), the printed order of Theorems 12 and 15, which does not follow."""
    return (local_steps - 1) * math.log(steps + 1) / math.sqrt(steps)
