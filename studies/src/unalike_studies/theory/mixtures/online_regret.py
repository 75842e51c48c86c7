"""Regret of a client against the best fixed mixture, and its bound.

A client commits to theta_t before step t, and is judged against the best that it could have played always:

    R_T  =  sum_t loss_t(theta_t)  -  min_theta sum_t loss_t(theta)

(its curve and slope are in :mod:`unalike.theory.mixtures.regret`). For linear losses with |g| <= G on the
simplex of m weights, exponentiated gradient from equal weights has (Marfoq's doctoral thesis, 2023, section
4.4, corrected)

    R_T  <=  log m / rate + rate G^2 T / 2  =  1.5 G sqrt(T log m)     at  rate = sqrt(log m) / (G sqrt T)
                                            =  G sqrt(2 T log m)       at  rate = sqrt(2 log m) / (G sqrt T)

The printed D G sqrt(T) with D = sqrt(log m) is smaller than either, and runs exceed it.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from unalike.typing import Float64s


def best_fixed_weights(log_densities: Float64s, steps: int = 500) -> Float64s:
    """The best fixed mixture of given components in hindsight: weights of the largest mean log-likelihood,
    for log-densities (rows, components), by expectation and maximization of a concave function."""
    logs = np.asarray(log_densities, np.float64)
    weights = np.full(logs.shape[1], 1 / logs.shape[1])
    for _ in range(steps):
        joint = logs + np.log(np.maximum(weights, 1e-300))
        weights = np.exp(joint - logsumexp(joint, axis=1, keepdims=True)).mean(axis=0)
    return weights


def mixture_losses(log_densities: Float64s, weights: Float64s) -> Float64s:
    """-log sum_j weight_j P_j of every row."""
    return -logsumexp(log_densities + np.log(np.maximum(weights, 1e-300)), axis=-1)


# Mirror descent on linear losses --------------------------------------------------------------------------


def play_linear(losses: Float64s, rate: float) -> Float64s:
    """The loss of exponentiated gradient in every step, for losses (steps, components) seen afterwards."""
    before = np.vstack([np.zeros(losses.shape[1]), np.cumsum(losses, axis=0)[:-1]])
    weights = np.exp(-rate * (before - before.min(axis=1, keepdims=True)))
    return (weights / weights.sum(axis=1, keepdims=True) * losses).sum(axis=1)


def linear_regret(losses: Float64s, rate: float) -> float:
    """Against the best single component, which is the best fixed point of the simplex."""
    return float(play_linear(losses, rate).sum() - losses.sum(axis=0).min())


def published_rate(components: int, bound: float, steps: int) -> float:
    """sqrt(log m) / (G sqrt T)."""
    return math.sqrt(math.log(components) / steps) / bound


def best_rate(components: int, bound: float, steps: int) -> float:
    """sqrt(2 log m) / (G sqrt T), which makes the bound smallest."""
    return math.sqrt(2) * published_rate(components, bound, steps)


def regret_bound(
    components: int, bound: float, steps: int, rate: float, gradient_error: float = 0.0
) -> float:
    """log m / rate + rate G^2 T / 2, and the diameter 2 times the sum of errors of inexact gradients.

    >>> round(regret_bound(10, 1.0, 1000, published_rate(10, 1.0, 1000)) / math.sqrt(1000), 3)
    2.276
    """
    return math.log(components) / rate + rate * bound**2 * steps / 2 + 2 * gradient_error


def printed_bound(components: int, bound: float, steps: int) -> float:
    """G sqrt(T log m) as printed: an erratum.

    >>> round(printed_bound(10, 1.0, 1000) / math.sqrt(1000), 3)
    1.517
    """
    return bound * math.sqrt(steps * math.log(components))


# Distances between Gaussians of unit covariance -----------------------------------------------------------


def gaussian_divergence(a: Float64s, b: Float64s) -> float:
    """KL(N(a, I) || N(b, I)) = |a - b|^2 / 2."""
    return float(((a - b) ** 2).sum() / 2)


def gaussian_variation(a: Float64s, b: Float64s) -> float:
    """The total variation of N(a, I) and N(b, I), 2 Phi(|a - b| / 2) - 1, which is at most |a - b| / 2."""
    return float(2 * norm.cdf(np.linalg.norm(a - b) / 2) - 1)


def variation_bound(means: Float64s, weights: Float64s, others: Float64s, their_weights: Float64s) -> float:
    """An upper bound on the total variation of two mixtures: sum_i pi_i |mu_i - mu'_i| / 2 + |pi - pi'|_1."""
    gaps = np.linalg.norm(means - others, axis=1)
    return float(weights @ gaps / 2 + np.abs(weights - their_weights).sum())
