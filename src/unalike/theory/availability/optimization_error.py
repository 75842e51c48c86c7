"""Optimization error under intermittent availability, and the weights that minimize it.

For a convex problem on a bounded set, step sizes eta_1 >= eta_2 >= ... and weights q of total Q, the averaged
model's error on the biased objective is at most (Rodio, Faticanti, Marfoq, Neglia and Leonardi, "Federated
Learning under Heterogeneous and Correlated Client Availability", 2023)

    1 / sum eta_t  *  [ (q' A q / 2 + v) / (pi' q)  +  psi  +  phi / ln(1 / r) ],
    A = diag(2 (E + 1) pi_k sigma_k^2 sum eta_t^2),

where r is the mixing rate of availability: correlation hurts through 1 / ln(1 / r). The first part is
least at

    q_k = (iota pi_k - theta) / A_kk  where that is positive, and zero elsewhere.

A_kk grows with pi_k, too: for equal noise, weights grow with availability where theta > 0, which is the case
for a small total Q, are equal where theta = 0, and fall where theta < 0.

The constant v grows with the number of joint states, 2^n for n independent clients, so for more than a few
clients the bound orders choices rather than predicts errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Float64s


@dataclass(frozen=True)
class Constants:
    """What the bound needs to know of a problem and of who comes and goes."""

    smoothness: float
    """L, for all clients' objectives."""
    noise: Float64s
    """sigma_k^2, the variance of each client's stochastic gradients."""
    slope: float
    """D, the longest gradient of any client's objective on the set."""
    spread: float
    """H, how much any client's objective differs from its value at the biased minimizer."""
    heterogeneity: float
    """Gamma, how far the common minimizer is from each client's own, in its objective."""
    diameter: float
    """Of the set on which models live."""
    local_steps: int = 1
    states: float = 2.0
    """How many states the availability of all clients together has (M)."""
    mixing_rate: float = 0.5
    """r, see :func:`.spectrum.mixing_rate`."""
    mixing_constant: float = 1.0
    """C, see :func:`.spectrum.mixing_constant`."""
    burn_in: int = 0
    """The round from which the mixing bound holds; 0 for chains that can be diagonalised."""

    @property
    def gradient_moment(self) -> float:
        """G^2 = D^2 + max sigma_k^2, the mean square of stochastic gradients."""
        return self.slope**2 + float(np.max(self.noise))


class OptimizationBound(NamedTuple):
    """The terms of the bound, each already divided by the sum of the step sizes."""

    noise: float
    """Stochastic gradients: q' A q / 2 / (pi' q)."""
    start: float
    """Where training starts: 2 diam^2 / E / (pi' q)."""
    states: float
    """Availability that has not mixed yet: M Q / 4 sum (eta_t^2 + 1 / t^2) / (pi' q)."""
    heterogeneity: float
    """Clients that pull apart: 4 L (1 + E Q) Gamma sum eta_t^2."""
    local_steps: float
    """Local steps that lead astray: 2 E^2 G^2 sum eta_t^2."""
    burn_in: float
    """Rounds before the mixing bound holds: H times their step sizes."""
    correlation: float
    """Rounds that resemble the last ones: phi / ln(1 / r)."""

    @property
    def total(self) -> float:
        """The bound itself."""
        return float(sum(self))


def largest_first_rate(smoothness: float, local_steps: int, total_weight: float) -> float:
    """The largest first step size for which the bound is proved, 1 / (2 L (1 + 2 E Q)).

    >>> largest_first_rate(smoothness=1.0, local_steps=2, total_weight=1.0)
    0.1
    """
    return 1 / (2 * smoothness * (1 + 2 * local_steps * total_weight))


def optimization_bound(
    active: ArrayLike, weights: ArrayLike, constants: Constants, rates: ArrayLike
) -> OptimizationBound:
    """The bound for rates eta_1 .. eta_T, term by term; sums run to T, which is all the proof needs."""
    pi, q, eta = (np.asarray(a, np.float64) for a in (active, weights, rates))
    _check_rates(eta, constants, float(q.sum()))
    reach, total, squares = float(pi @ q), float(q.sum()), float(eta @ eta)
    if not reach > 0:
        raise ConfigError("somebody with a positive weight must be available.")
    c, steps = constants, constants.local_steps
    terms = (
        float(_curvature(pi, c, eta) @ q**2) / 2 / reach,
        2 / steps * c.diameter**2 / reach,
        _unmixed(c, eta, total) / reach,
        4 * c.smoothness * (1 + steps * total) * c.heterogeneity * squares,
        2 * steps**2 * c.gradient_moment * squares,
        c.spread * float(eta[: max(c.burn_in - 1, 0)].sum()),
        _persistence(c, eta, total),
    )
    return OptimizationBound(*(term / float(eta.sum()) for term in terms))


def quickest_weights(
    active: ArrayLike, constants: Constants, rates: ArrayLike, total_weight: float = 1.0
) -> Float64s:
    """The weights of this total that minimize the bound, whatever bias they bring.

    A client that is never there takes what would be too much for the others: it costs nothing.
    """
    pi, eta = np.asarray(active, np.float64), np.asarray(rates, np.float64)
    offset = 2 / constants.local_steps * constants.diameter**2 + _unmixed(constants, eta, total_weight)
    return minimize_ratio(_curvature(pi, constants, eta), offset, pi, total_weight)


def minimize_ratio(curvature: Float64s, offset: float, slope: Float64s, total: float) -> Float64s:
    """The q >= 0 of sum `total` with the least (sum a_k q_k^2 / 2 + offset) / (sum s_k q_k).

    By Dinkelbach's iteration ("On Nonlinear Fractional Programming", 1967): with the ratio iota of the last
    q, minimize numerator - iota * denominator; iota falls, quadratically fast, until it is the least ratio.

    >>> minimize_ratio(np.ones(2), 10.0, np.array([0.9, 0.1]), total=1.0)
    array([1., 0.])
    """
    if not (total > 0 and slope.max() > 0 and slope.min() >= 0 and curvature.min() >= 0 and offset >= 0):
        raise ConfigError(
            "the ratio needs a positive total, and slopes, curvatures and an offset that are not negative."
        )
    q = np.full(len(slope), total / len(slope))
    ratio = np.inf
    for _ in range(100):
        better = float(curvature @ q**2 / 2 + offset) / float(slope @ q)
        if not better < ratio * (1 - 1e-15):
            break
        ratio = better
        q = fill_simplex(ratio * slope, curvature, total)
    return q


def fill_simplex(gains: Float64s, curvature: Float64s, total: float) -> Float64s:
    """The q >= 0 of sum `total` with the largest sum g_k q_k - a_k q_k^2 / 2, exactly.

    q_k = (g_k - theta) / a_k where positive. The sum falls piecewise linearly in theta, so one sort finds it.
    Clients without curvature take whatever is left once theta reaches the largest of their gains.

    >>> fill_simplex(np.array([1.0, 3.0]), np.array([1.0, 1.0]), total=4.0)
    array([1., 3.])
    """
    gains = gains - gains.max()  # changes nothing but the rounding
    q = np.zeros(len(gains))
    curved = np.flatnonzero(curvature > 0)
    flat_gain = gains[curvature == 0].max(initial=-np.inf)
    theta = max(_level(gains[curved], curvature[curved], total), flat_gain)
    q[curved] = np.maximum(gains[curved] - theta, 0.0) / curvature[curved]
    takers = (curvature == 0) & (gains == theta)
    q[takers] = max(total - q.sum(), 0.0) / max(takers.sum(), 1)
    return q


def _level(gains: Float64s, curvature: Float64s, total: float) -> float:
    """The theta at which sum max(g_k - theta, 0) / a_k is `total`."""
    if not len(gains):
        return -np.inf
    order = np.argsort(-gains, kind="stable")
    top, widths = gains[order[0]], 1 / curvature[order]
    levels = gains[order] - top
    thetas = (np.cumsum(levels * widths) - total) / np.cumsum(widths)
    return float(top + thetas[np.flatnonzero(levels > thetas)[-1]])


def _curvature(active: Float64s, constants: Constants, rates: Float64s) -> Float64s:
    return np.asarray(2 * (constants.local_steps + 1) * active * constants.noise * float(rates @ rates))


def _unmixed(constants: Constants, rates: Float64s, total_weight: float) -> float:
    rounds = np.arange(1, len(rates) + 1)
    return constants.states * total_weight / 4 * float((rates**2 + 1.0 / rounds**2).sum())


def _persistence(constants: Constants, rates: Float64s, total_weight: float) -> float:
    """phi / ln(1 / r): each round costs the step size of the round that it still resembles."""
    if constants.mixing_rate >= 1:
        return float("inf")
    c, rounds = constants, np.arange(1, len(rates) + 1)
    logs = np.log(np.maximum(2 * c.mixing_constant * c.spread * rounds, 1.0))
    forget = np.log(1 / c.mixing_rate)
    delays = np.minimum(np.maximum(np.ceil(logs / forget), c.burn_in), rounds).astype(np.int64)
    older = rates[np.maximum(rounds - delays, 1) - 1]
    scale = 2 * c.local_steps * c.slope * np.sqrt(c.gradient_moment) * total_weight
    return float(scale * (logs @ older**2) / forget)


def _check_rates(rates: Float64s, constants: Constants, total_weight: float) -> None:
    if not len(rates) or (rates <= 0).any() or (np.diff(rates) > 0).any():
        raise ConfigError("step sizes must be positive and must not grow.")
    largest = largest_first_rate(constants.smoothness, constants.local_steps, total_weight)
    if rates[0] > largest * (1 + 1e-12):
        raise ConfigError(
            f"the first step size must be at most {largest:.4g} for the bound, but is {rates[0]:.4g}."
        )
