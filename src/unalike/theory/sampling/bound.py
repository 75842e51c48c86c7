"""Convergence bound of client sampling, term by term.

Fraboni, Vidal, Kameni and Lorenzi ("A General Theory for Client Sampling in Federated Learning", 2022): with
K local steps of length eta_l, a server step eta_g, eta = eta_l eta_g, losses of smoothness L, gradients of
variance s2, and sum_i p_i ||grad L_i||^2 <= b2 ||grad L||^2 + k2, the mean squared gradient over T rounds is
at most of the order of

    1 / (eta K T) + eta_l^2 (K-1) s2 + eta (Sigma + sum_i p_i^2) s2 + eta_l^2 K (K-1) k2
                  + eta gamma ((K-1) / K s2 + K k2).

Constants are those of FedAvg; all terms are divided by 1 - Omega, Omega = 1.5 L eta K gamma b2.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...participation.samplers.statistics import WeightStatistics
from ...typing import Float64s


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The constants of a training problem that its bound depends on."""

    learning_rate: float
    local_steps: int
    rounds: int
    server_learning_rate: float = 1.0
    smoothness: float = 1.0
    """L: gradients change at most so much per unit of distance."""
    gradient_variance: float = 0.0
    """sigma^2, of a stochastic gradient."""
    dissimilarity: float = 0.0
    """kappa^2: how far clients' gradients are apart where the common one is zero."""
    dissimilarity_growth: float = 1.0
    """b^2 >= 1: how their distance grows with the common gradient."""
    initial_gap: float = 1.0
    """The first loss minus the least one."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), _LEAST.get(field.name, 0.0)
            if not math.isfinite(value) or value < least or (value == 0 and field.name in _POSITIVE):
                wanted = "above 0" if least == 0 and field.name in _POSITIVE else f"at least {least:g}"
                raise ConfigError(f"{field.name} must be {wanted}, but is {value}.")

    @property
    def step(self) -> float:
        """eta, the local and the server's learning rate together."""
        return self.learning_rate * self.server_learning_rate


_LEAST = {"dissimilarity_growth": 1.0, "local_steps": 1.0, "rounds": 1.0}
_POSITIVE = ("learning_rate", "server_learning_rate", "smoothness")


@dataclass(frozen=True)
class Terms:
    """The five reasons why the mean squared gradient is not zero."""

    initial_error: float
    local_noise: float
    sampled_noise: float
    client_drift: float
    sampling_and_heterogeneity: float

    @property
    def total(self) -> float:
        """Their sum."""
        return float(sum(astuple(self)))


@dataclass(frozen=True)
class Conditions:
    """Whether steps are short enough for the bound to hold."""

    local: bool
    """2 (2 b2 + 1) (eta_l L K)^2 < 1."""
    server: bool
    """L eta (1 - alpha) K < 1."""
    sampling: bool
    """Omega <= 1/2."""

    def __bool__(self) -> bool:
        return self.local and self.server and self.sampling


@dataclass(frozen=True)
class Bound:
    """The bound on the mean squared gradient over all rounds."""

    orders: Terms
    """Up to constants."""
    terms: Terms
    """With constants; infinite where Omega is one or more."""
    omega: float
    conditions: Conditions

    @property
    def total(self) -> float:
        """The bound itself; it holds only if all conditions do."""
        return self.terms.total


def convergence_bound(statistics: WeightStatistics, problem: Problem) -> Bound:
    """The bound for unbiased weights, term by term.

    >>> from unalike.participation import Full
    >>> everyone = Full().statistics(np.full(4, 0.25))
    >>> bound = convergence_bound(everyone, Problem(learning_rate=0.01, local_steps=5, rounds=100))
    >>> bound.orders.initial_error, bound.orders.sampling_and_heterogeneity, bool(bound.conditions)
    (0.2, 0.0, True)
    """
    gamma = _require_gamma(statistics)
    orders = _orders(statistics, gamma, problem)
    omega = 1.5 * problem.smoothness * problem.step * problem.local_steps * gamma
    omega *= problem.dissimilarity_growth
    return Bound(
        orders, _with_constants(orders, omega, gamma, problem), omega, _conditions(statistics, problem)
    )


def _require_gamma(statistics: WeightStatistics) -> float:
    if not statistics.unbiased:
        raise ConfigError("the bound needs weights that are right on average, but these are biased.")
    if statistics.gamma is None:
        raise ConfigError("the bound needs a gamma, which these weights do not have.")
    return statistics.gamma


def _orders(statistics: WeightStatistics, gamma: float, problem: Problem) -> Terms:
    steps, noise, unlike = problem.local_steps, problem.gradient_variance, problem.dissimilarity
    squares = float(statistics.importance @ statistics.importance)
    return Terms(
        initial_error=1 / (problem.step * steps * problem.rounds),
        local_noise=problem.learning_rate**2 * (steps - 1) * noise,
        sampled_noise=problem.step * (statistics.total_variance + squares) * noise,
        client_drift=problem.learning_rate**2 * steps * (steps - 1) * unlike,
        sampling_and_heterogeneity=problem.step * gamma * ((steps - 1) / steps * noise + steps * unlike),
    )


def _with_constants(orders: Terms, omega: float, gamma: float, problem: Problem) -> Terms:
    if omega >= 1:
        return Terms(*[math.inf] * 5)
    smooth, steps, scale = problem.smoothness, problem.local_steps, 1 / (1 - omega)
    mixed = 3 * (steps - 1) / steps * problem.gradient_variance + 6 * steps * problem.dissimilarity
    return Terms(
        scale * 4 * problem.initial_gap * orders.initial_error,
        scale * 3 * smooth**2 * orders.local_noise,
        scale * 2 * smooth * orders.sampled_noise,
        scale * 6 * smooth**2 * orders.client_drift,
        scale * smooth * problem.step * gamma * mixed,
    )


def _conditions(statistics: WeightStatistics, problem: Problem) -> Conditions:
    local = problem.learning_rate * problem.smoothness * problem.local_steps
    server = problem.step * problem.smoothness * problem.local_steps
    growth, gamma = problem.dissimilarity_growth, _require_gamma(statistics)
    return Conditions(
        local=2 * (2 * growth + 1) * local**2 < 1,
        # Without an alpha, the least favorable one: it is zero for independent weights.
        server=server * (1 - (statistics.alpha or 0.0)) < 1,
        sampling=3 * server * gamma * growth <= 1,
    )


def proximal_accumulation(local_steps: int, learning_rate: float, mu: float) -> Float64s:
    """How much of each local gradient is left in a client's update after all its proximal steps.

    The k-th of K steps of FedProx counts (1 - eta_l mu)^(K - 1 - k) times; plain SGD counts each once.

    >>> proximal_accumulation(3, 0.5, 1.0)
    array([0.25, 0.5 , 1.  ])
    """
    return np.power(1 - learning_rate * mu, np.arange(local_steps - 1, -1, -1, dtype=np.float64))


def effective_steps(importance: Float64s, accumulated: ArrayLike) -> float:
    """The mean local work, sum_i p_i ||a_i||_1, where client i's gradients count ||a_i||_1 times in all."""
    return float(importance @ np.asarray(accumulated, np.float64))


def effective_importance(importance: Float64s, accumulated: ArrayLike) -> Float64s:
    """What clients really count when they work differently: p_i ||a_i||_1, shared out to sum to one.

    >>> effective_importance(np.array([0.5, 0.5]), [3, 1])
    array([0.75, 0.25])
    """
    work = np.asarray(accumulated, np.float64)
    if work.shape != importance.shape or not np.isfinite(work).all() or work.min() < 0 or not work.max() > 0:
        raise ConfigError("local work needs one number per client, none negative, and not all zero.")
    return importance * work / effective_steps(importance, work)
