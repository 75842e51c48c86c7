"""Convergence bound of client sampling, term by term.

Fraboni, Vidal, Kameni and Lorenzi ("A General Theory for Client Sampling in Federated Learning", 2022): with
K local steps of length eta_l, a server step eta_g, eta = eta_l eta_g, losses of smoothness L, gradients of
variance s2, and sum_i p_i ||grad L_i||^2 <= b2 ||grad L||^2 + k2, the mean squared gradient over T rounds is
at most of the order of

    1 / (eta K T) + eta_l^2 (K-1) s2 + eta (Sigma + sum_i p_i^2) s2 + eta_l^2 K (K-1) k2
                  + eta gamma ((K-1) / K s2 + K k2).

All terms are divided by 1 - Omega, Omega = 1.5 L eta K gamma b2. Where the k-th of client i's gradients
counts a_ik times (FedProx, other solvers), sums of a_i take the place of K (their Theorem A.1), and the loss
is that with weights w_i = p_i ||a_i||_1 / K_eff. Their proof bounds sum_i gamma_i ||a_i||_1^2 ||grad L_i||^2
as if these weights were in proportion to w_i, which they need not be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import NamedTuple

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


class LocalWork(NamedTuple):
    """How the gradients of each client's steps add up to its update: the norms of its coefficients a_i."""

    total: Float64s
    """||a_i||_1; K for plain SGD."""
    squares: Float64s
    """||a_i||_2^2; K for plain SGD."""
    last: Float64s
    """The coefficient of the last gradient."""

    @classmethod
    def of(cls, coefficients: Sequence[ArrayLike]) -> LocalWork:
        """From each client's coefficients, first step first.

        >>> LocalWork.of([[1, 1, 1], [0.5, 1]]).total
        array([3. , 1.5])
        """
        rows = [np.asarray(one, np.float64) for one in coefficients]
        if not all(row.ndim == 1 and row.size and np.isfinite(row).all() and row.min() >= 0 for row in rows):
            raise ConfigError("each client needs the coefficients of its steps, none of them negative.")
        return cls(*np.array([(row.sum(), row @ row, row[-1]) for row in rows]).reshape(-1, 3).T)

    @classmethod
    def sgd(cls, clients: int, local_steps: float) -> LocalWork:
        """The same number of plain steps for everyone."""
        same = np.full(clients, float(local_steps))
        return cls(same, same, np.ones(clients))


def convergence_bound(statistics: WeightStatistics, problem: Problem, work: LocalWork | None = None) -> Bound:
    """The bound for unbiased weights, term by term.

    With another local solver than SGD it bounds the gradient of the loss with :func:`effective_importance`.

    >>> from unalike.participation import Full
    >>> everyone = Full().statistics(np.full(4, 0.25))
    >>> bound = convergence_bound(everyone, Problem(learning_rate=0.01, local_steps=5, rounds=100))
    >>> bound.orders.initial_error, bound.orders.sampling_and_heterogeneity, bool(bound.conditions)
    (0.2, 0.0, True)

    Args:
        statistics: the moments of the weights.
        problem: the constants; its local steps are not used where `work` is given.
        work: what clients' local solvers do; the problem's steps of plain SGD if not given.
    """
    clients = len(statistics.importance)
    work = LocalWork.sgd(clients, problem.local_steps) if work is None else work
    effective_importance(statistics.importance, work.total)  # one for each client, not all zero
    sums = _sums(statistics, work)
    orders = _orders(sums, problem)
    omega = 1.5 * problem.smoothness * problem.step * sums.unlike * problem.dissimilarity_growth
    conditions = _conditions(statistics, sums, problem)
    return Bound(orders, _with_constants(orders, omega, sums, problem), omega, conditions)


class _Sums(NamedTuple):
    """What Theorem A.1 needs of weights and local work (A.92); K_eff is the mean of ||a_i||_1."""

    steps: float
    """K_eff."""
    longest: float
    """max_i ||a_i||_1."""
    sampled: float
    """sum_i E[omega_i^2] ||a_i||_2^2 / K_eff."""
    local: float
    """sum_i w_i (||a_i||_2^2 - a_last^2)."""
    drift: float
    """max_i ||a_i||_1 (||a_i||_1 - a_last)."""
    noisy: float
    """sum_i gamma_i (||a_i||_2^2 - a_last^2) / K_eff."""
    unlike: float
    """sum_i gamma_i ||a_i||_1^2 / K_eff."""


def _sums(statistics: WeightStatistics, work: LocalWork) -> _Sums:
    gamma, p = _require_gamma(statistics), statistics.importance
    steps, before = effective_steps(p, work.total), work.squares - work.last**2

    def by_gamma(values: Float64s) -> float:
        # Where only a bound of gamma is known, the client that works most may have all of it.
        known = statistics.gammas
        return (gamma * float(values.max()) if known is None else float(known @ values)) / steps

    return _Sums(
        steps=steps,
        longest=float(work.total.max()),
        sampled=float((statistics.variance + p**2) @ work.squares) / steps,
        local=float((p * work.total) @ before) / steps,
        drift=float((work.total * (work.total - work.last)).max()),
        noisy=by_gamma(before),
        unlike=by_gamma(work.total**2),
    )


def _require_gamma(statistics: WeightStatistics) -> float:
    if not statistics.unbiased:
        raise ConfigError("the bound needs weights that are right on average, but these are biased.")
    if statistics.gamma is None:
        raise ConfigError("the bound needs a gamma, which these weights do not have.")
    return statistics.gamma


def _orders(sums: _Sums, problem: Problem) -> Terms:
    noise, unlike = problem.gradient_variance, problem.dissimilarity
    return Terms(
        initial_error=1 / (problem.step * sums.steps * problem.rounds),
        local_noise=problem.learning_rate**2 * sums.local * noise,
        sampled_noise=problem.step * sums.sampled * noise,
        client_drift=problem.learning_rate**2 * sums.drift * unlike,
        sampling_and_heterogeneity=problem.step * (sums.noisy * noise + sums.unlike * unlike),
    )


def _with_constants(orders: Terms, omega: float, sums: _Sums, problem: Problem) -> Terms:
    if omega >= 1:
        return Terms(*[math.inf] * 5)
    smooth, scale = problem.smoothness, 1 / (1 - omega)
    mixed = 3 * sums.noisy * problem.gradient_variance + 6 * sums.unlike * problem.dissimilarity
    return Terms(
        scale * 4 * problem.initial_gap * orders.initial_error,
        scale * 3 * smooth**2 * orders.local_noise,
        scale * 2 * smooth * orders.sampled_noise,
        scale * 6 * smooth**2 * orders.client_drift,
        scale * smooth * problem.step * mixed,
    )


def _conditions(statistics: WeightStatistics, sums: _Sums, problem: Problem) -> Conditions:
    local = problem.learning_rate * problem.smoothness * sums.longest
    server, growth = problem.step * problem.smoothness, problem.dissimilarity_growth
    return Conditions(
        local=2 * (2 * growth + 1) * local**2 < 1,
        # Without an alpha, the least favorable one: it is zero for independent weights.
        server=server * sums.steps * (1 - (statistics.alpha or 0.0)) < 1,
        sampling=3 * server * sums.unlike * growth <= 1,
    )


def asymptotic_rate(importance: Float64s, problem: Problem) -> Terms:
    """The published rate of full participation at the learning rate sqrt(m / (K T)), up to constants.

    It is 1 / sqrt(m K T) + sqrt(m / (K T)) sum_i p_i^2 s2 + (m / T) s2 + (m / T) K k2, where every client
    takes part, so that m is their number; the problem's own learning rate is not used.

    >>> problem = Problem(learning_rate=1.0, local_steps=1, rounds=100, gradient_variance=1.0)
    >>> asymptotic_rate(np.full(4, 0.25), problem).initial_error
    0.05
    """
    clients, local, rounds = len(importance), problem.local_steps, problem.rounds
    return Terms(
        initial_error=1 / math.sqrt(clients * local * rounds),
        local_noise=clients / rounds * problem.gradient_variance,
        sampled_noise=math.sqrt(clients / (local * rounds))
        * float(importance @ importance)
        * problem.gradient_variance,
        client_drift=clients / rounds * local * problem.dissimilarity,
        sampling_and_heterogeneity=0.0,
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
