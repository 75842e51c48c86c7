"""Random aggregation weights on quadratic losses, exactly: the smallest problem in which they matter.

Clients with losses ||theta - theta_i||^2 / 2 that make full local steps: a round moves the model by g sum_i
omega_i (theta_i - theta), where g is the server's learning rate times 1 - (1 - eta_l)^K. With unbiased
weights of covariance C, V = Var[sum_i omega_i] and x_i = theta_i - sum_j p_j theta_j, the mean squared error
contracts by 1 - 2 g + g^2 (1 + V) a round, and settles at

    g^2 trace(X^T C X) / (2 g - g^2 (1 + V)),        or grows for ever if g >= 2 / (1 + V).

Nothing is assumed of C. With one alpha (Fraboni, Vidal, Kameni and Lorenzi, "A General Theory for Client
Sampling in Federated Learning", 2022) the trace is sum_i gamma_i ||x_i||^2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...core.random import generator
from ...errors import ConfigError
from ...participation.samplers.base import Sampler
from ...participation.samplers.statistics import WeightStatistics
from ...typing import Float64s


def local_progress(learning_rate: float, local_steps: int) -> float:
    """The part of the way to its own optimum that a client goes in a round.

    >>> local_progress(0.5, 2)
    0.75
    """
    return 1 - (1 - learning_rate) ** local_steps


def contraction(statistics: WeightStatistics, step: float) -> float:
    """The factor of the mean squared error in a round, apart from noise; above one it grows.

    >>> from unalike.participation import Full
    >>> round(contraction(Full().statistics(np.full(2, 0.5)), 0.1), 4)
    0.81
    """
    length = float(statistics.mean.sum())
    return 1 - 2 * step * length + step**2 * (length**2 + statistics.variance_of_sum)


def critical_step(statistics: WeightStatistics) -> float:
    """The step from which on the mean squared error grows for ever: 2 / (1 + Var[sum]).

    >>> from unalike.participation import Uniform
    >>> uneven = np.array([0.9] + 19 * [0.1 / 19])
    >>> round(critical_step(Uniform(per_round=2).statistics(uneven)), 5)
    0.24375
    """
    length = float(statistics.mean.sum())
    return 2 * length / (length**2 + statistics.variance_of_sum)


def stationary_error(statistics: WeightStatistics, optima: ArrayLike, step: float) -> float:
    """E ||theta - theta*||^2 after many rounds, infinite if it grows for ever.

    Biased weights settle around another optimum; the distance to it is part of the error.

    >>> from unalike.participation import Multinomial
    >>> round(stationary_error(Multinomial(per_round=2).statistics(np.full(2, 0.5)), [-1.0, 1.0], 1.0), 4)
    0.5
    """
    factor = contraction(statistics, step)
    if factor >= 1:
        return math.inf
    moments = _moments(statistics, _center(statistics.importance, optima))
    settled = moments.pull / float(statistics.mean.sum())
    return moments.added(settled, step) / (1 - factor)


def expected_errors(
    statistics: WeightStatistics, optima: ArrayLike, step: float, rounds: int, start: ArrayLike = 0.0
) -> Float64s:
    """E ||theta - theta*||^2 before every round and after the last.

    >>> from unalike.participation import Full
    >>> expected_errors(Full().statistics(np.array([0.5, 0.5])), [0.0, 2.0], step=0.5, rounds=2)
    array([1.    , 0.25  , 0.0625])
    """
    moments = _moments(statistics, _center(statistics.importance, optima))
    factor, length = contraction(statistics, step), float(statistics.mean.sum())
    mean = np.asarray(start) - statistics.importance @ _rows(optima)
    squares = [float(mean @ mean)]
    for _ in range(rounds):
        squares.append(factor * squares[-1] + moments.added(mean, step))
        mean = (1 - step * length) * mean + step * moments.pull
    return np.array(squares)


def simulate(
    sampler: Sampler,
    importance: Float64s,
    optima: ArrayLike,
    step: float,
    rounds: int,
    seed: int = 0,
    replicas: int = 1,
    start: ArrayLike = 0.0,
) -> Float64s:
    """||theta - theta*||^2 before every round and after the last, one row per independent replica.

    >>> from unalike.participation import Full
    >>> simulate(Full(), np.array([0.5, 0.5]), [0.0, 2.0], step=0.5, rounds=2)
    array([[1.    , 0.25  , 0.0625]])
    """
    if sampler.asks:
        raise ConfigError(f"{type(sampler).__name__} asks clients first; the laboratory only draws.")
    x = _center(importance, optima)
    sums, pulls = _draws(sampler, importance, x, (replicas, rounds), seed)
    error = np.broadcast_to(np.asarray(start) - importance @ _rows(optima), (replicas, x.shape[1]))
    squares = [(error**2).sum(axis=1)]
    for t in range(rounds):
        error = (1 - step * sums[:, t, None]) * error + step * pulls[:, t]
        squares.append((error**2).sum(axis=1))
    return np.stack(squares, axis=1)


def _draws(
    sampler: Sampler, importance: Float64s, x: Float64s, shape: tuple[int, int], seed: int
) -> tuple[Float64s, Float64s]:
    """sum_i omega_i and sum_i omega_i x_i for each replica and round: all that a round needs to know."""
    rng = generator(seed, "laboratory")
    sums, pulls = np.empty(shape), np.empty((*shape, x.shape[1]))
    for place in np.ndindex(*shape):
        cohort = sampler.draw(importance, rng)
        sums[place] = cohort.weights.sum()
        pulls[place] = cohort.weights @ x[cohort.clients]
    return sums, pulls


class _Moments(NamedTuple):
    """With z = sum_i omega_i x_i and S = sum_i omega_i:"""

    pull: Float64s
    """E[z], zero for unbiased weights."""
    along: Float64s
    """E[S z]."""
    square: float
    """E ||z||^2."""

    def added(self, mean: Float64s, step: float) -> float:
        """What a round adds to the contracted mean square of an error e of known mean.

        It is 2 g E[(1 - g S) z] E[e] + g^2 E ||z||^2.
        """
        return 2 * step * float((self.pull - step * self.along) @ mean) + step**2 * self.square


def _moments(statistics: WeightStatistics, x: Float64s) -> _Moments:
    pull = statistics.mean @ x
    covariance_along, trace = _noise(statistics, x)
    return _Moments(pull, covariance_along + statistics.mean.sum() * pull, trace + float(pull @ pull))


def _noise(statistics: WeightStatistics, x: Float64s) -> tuple[Float64s, float]:
    """X^T C 1 and trace(X^T C X); with an alpha, C = diag(gamma) - alpha p p^T needs no matrix."""
    if statistics.gammas is not None and statistics.alpha is not None:
        p, middle = statistics.importance, statistics.importance @ x
        trace = statistics.gammas @ (x**2).sum(axis=1) - statistics.alpha * (middle @ middle)
        return (statistics.gammas - statistics.alpha * p.sum() * p) @ x, float(trace)
    covariance = statistics.covariance()
    return covariance.sum(axis=1) @ x, float(((covariance @ x) * x).sum())


def _center(importance: Float64s, optima: ArrayLike) -> Float64s:
    rows = _rows(optima)
    if len(rows) != len(importance) or not np.isfinite(rows).all():
        raise ConfigError(f"optima need one finite row for each of {len(importance)} clients.")
    return rows - importance @ rows


def _rows(optima: ArrayLike) -> Float64s:
    given = np.asarray(optima, np.float64)
    return given[:, None] if given.ndim == 1 else given
