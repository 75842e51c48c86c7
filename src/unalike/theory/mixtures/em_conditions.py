"""When does FEM-OMD's expectation and maximization find Gaussian components? (Assumptions 27 to 30.)

Marfoq's doctoral thesis (2023), section 4.4.3: for components N(mu*_j, I) in d dimensions and true weights
pi* >= beta,

    separation (27)          |mu*_j - mu*_l|  >=  128 sqrt(log(m / beta))              for all j, l
    first means (28)         |mu_1j - mu*_j|  <=  min_l |mu*_j - mu*_l| / 16       (/ 4 with a k-means step)
    first weights (29)       |pt_j - pi*_j|   <=  pi*_j / 2                            in every step
    positive weights (30)    pi*_j  >=  beta  in (0, 1 / m]
    rows of a step           n  >=  C d / (beta eps^2) log^2(m^2 T K / delta)          (Theorem 4.4.1)

with C a universal constant that nobody says. Then means are within eps and weights within eps pi*_j, and so
is the gradient of the mixture weights (Theorem 4.4.4):

    pi_j |grad_j - approx_j|  <=  3/2 max_q |mu_q - mu*_q|  +  |pt - pi*|_1                            (4.43)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Float64s

SEPARATION = 128.0
"""C' of assumption 27, at least."""
START, START_BEFORE_KMEANS = 1 / 16, 1 / 4
"""Which part of the smallest distance first means may be away (assumption 28, Remark 7)."""


def needed_separation(components: int, least_weight: float, constant: float = SEPARATION) -> float:
    """How far apart means must be for assumption 27.

    Args:
        components: m.
        least_weight: beta, the smallest true mixture weight.
        constant: C', 128 as printed.

    >>> round(needed_separation(3, 0.2), 1)
    210.6
    """
    check_least_weight(components, least_weight)
    return constant * math.sqrt(math.log(components / least_weight))


def check_least_weight(components: int, least_weight: float) -> float:
    """beta, if it is one (assumption 30)."""
    if components < 1 or not 0 < least_weight <= 1 / components + 1e-12:
        raise ConfigError(
            f"the smallest mixture weight of {components} components must be above 0 and at most "
            f"1 / {components}, but is {least_weight:g}."
        )
    return least_weight


def smallest_distances(means: ArrayLike) -> Float64s:
    """Of every mean, the distance to the nearest other one.

    >>> smallest_distances([[0.0], [1.0], [3.0]]).tolist()
    [1.0, 1.0, 2.0]
    """
    points = np.asarray(means, np.float64)
    gaps = np.linalg.norm(points[:, None] - points, axis=-1)
    return np.where(np.eye(len(points), dtype=bool), np.inf, gaps).min(axis=1)


def start_radius(means: ArrayLike, part: float = START) -> Float64s:
    """How far from each true mean the first one may be (assumption 28; Remark 7 with a part of 1/4)."""
    return part * smallest_distances(means)


def weights_start_holds(first: ArrayLike, truth: ArrayLike) -> bool:
    """Whether first estimates of the weights are near enough to the true ones (assumption 29).

    >>> weights_start_holds([0.5, 0.5], [0.4, 0.6]), weights_start_holds([0.5, 0.5], [0.2, 0.8])
    (True, False)
    """
    true_weights = np.asarray(truth, np.float64)
    return bool((np.abs(np.asarray(first, np.float64) - true_weights) <= true_weights / 2).all())


def needed_rows(
    dimension: int,
    components: int,
    least_weight: float,
    accuracy: float,
    *,
    steps: int = 1,
    exchanges: int = 1,
    delta: float = 0.05,
) -> float:
    """Rows of a step for an accuracy (Theorem 4.4.1), in units of its constant C, which is not published.

    Args:
        dimension: d.
        components: m.
        least_weight: beta.
        accuracy: eps.
        steps: T.
        exchanges: K.
        delta: the probability that it fails, up to a constant.
    """
    logarithm = math.log(components**2 * steps * exchanges / delta)
    return dimension / (check_least_weight(components, least_weight) * accuracy**2) * logarithm**2


def gradient_error_bound(
    means: ArrayLike, true_means: ArrayLike, weights: ArrayLike, true_weights: ArrayLike
) -> float:
    """(4.43): how far the gradient of the mixture weights is off, times the weight that is played.

    Args:
        means: the means that were found, as (components, dimension).
        true_means: the true ones, in the same order.
        weights: the client's estimate of its weights in the step.
        true_weights: its true ones.

    >>> round(gradient_error_bound([[0.0], [5.0]], [[0.0], [5.2]], [0.5, 0.5], [0.4, 0.6]), 12)
    0.5
    """
    apart = np.linalg.norm(np.asarray(means, np.float64) - np.asarray(true_means, np.float64), axis=1)
    shares = np.abs(np.asarray(weights, np.float64) - np.asarray(true_weights, np.float64)).sum()
    return float(1.5 * apart.max() + shares)
