"""What does a client really count when cohorts are renormalised?

Weights p_i / sum_{j in S} p_j for a uniform cohort S have no closed form, and drawing cohorts answers with
noise that looks like bias. But 1/s and 1/s^2 are integrals of exp(-t s) and t exp(-t s) over t > 0, and over
all cohorts of m clients the mean of

    exp(-t sum_{j in S} p_j) 1{i in S}

is a coefficient of the polynomial prod_j (1 - f + f exp(-t p_j) y), f = m/n, divided by a binomial
probability. With t = exp(u) the trapezoidal rule reaches the precision of the machine with some 150 points
(Takahasi and Mori, "Double Exponential Formulas for Numerical Integration", 1974).
"""

from __future__ import annotations

from functools import partial
from itertools import combinations
from math import comb

import numpy as np
import scipy

from .base import Floats
from .statistics import WeightStatistics

SPACING = 0.25
"""Of the points in u; the rule's error is about exp(-pi^2 / spacing)."""
ROUNDING = 1e-11
"""A variance below this part of the mean square is none."""
MOST_COHORTS = 200_000
"""Up to so many possible cohorts, covariances are enumerated."""
MOST_CELLS = 2_000_000
"""Points are taken in batches, so that tables of clients x points x draws stay this small."""


def renormalised_statistics(importance: Floats, per_round: int) -> WeightStatistics:
    """Mean and variance of renormalised weights, to about ten digits; covariances where cohorts are few.

    >>> equal = np.full(100, 0.01)
    >>> renormalised_statistics(equal, 10).unbiased
    True
    """
    n, m = len(importance), min(per_round, len(importance))
    mean, square = np.zeros(n), np.zeros(n)
    points = _points(importance, m)
    batch = max(MOST_CELLS // (n * m), 1)
    for first in range(0, len(points), batch):
        t = points[first : first + batch]
        together = _laplace(importance, m, t)
        mean += importance * (together @ t) * SPACING
        square += importance**2 * (together @ t**2) * SPACING
    variance = square - mean**2
    variance[variance < ROUNDING * square] = 0.0
    return WeightStatistics(
        importance,
        mean,
        variance,
        np.full(n, m / n),
        0.0,
        pairwise=partial(enumerated_covariance, importance, m) if comb(n, m) <= MOST_COHORTS else None,
        clients_variance=0.0,
    )


def enumerated_covariance(importance: Floats, per_round: int) -> Floats:
    """The covariances of renormalised weights, by enumerating all cohorts."""
    n = len(importance)
    cohorts = np.array(list(combinations(range(n), per_round)), np.int64)
    weights = np.zeros((len(cohorts), n))
    shares = importance[cohorts]
    sums = np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    np.put_along_axis(weights, cohorts, shares / sums, axis=1)
    return np.cov(weights, rowvar=False, bias=True).reshape(n, n)


def _points(importance: Floats, m: int) -> Floats:
    """From where exp(-t s) is one for the largest sum s of a cohort to where it is nothing for the least."""
    ordered = np.sort(importance)
    least = max(float(ordered[:m].sum()), float(ordered[ordered > 0][0]))
    most = float(ordered[-m:].sum())
    return np.exp(np.arange(np.log(1e-13 / most), np.log(40 / least), SPACING))


def _laplace(importance: Floats, m: int, t: Floats) -> Floats:
    """The mean over all cohorts of exp(-t s) 1{i in S}, for each client and each t."""
    n, share = len(importance), m / len(importance)
    heads = share * np.exp(-importance[:, None] * t)
    before = _running_products(heads, share, m)
    after = np.zeros((len(t), m))
    after[:, 0] = 1.0
    means = np.empty((n, len(t)))
    for i in range(n - 1, -1, -1):
        means[i] = heads[i] * (before[i] * after[:, ::-1]).sum(axis=1)
        after = _times(after, heads[i], share)
    return means / scipy.stats.binom.pmf(m, n, share)


def _running_products(heads: Floats, share: float, m: int) -> Floats:
    """The first m coefficients of the product of all factors before each client's."""
    products = np.zeros((*heads.shape, m))
    products[0, :, 0] = 1.0
    for i in range(len(heads) - 1):
        products[i + 1] = _times(products[i], heads[i], share)
    return products


def _times(coefficients: Floats, head: Floats, share: float) -> Floats:
    product = (1 - share) * coefficients
    product[:, 1:] += head[:, None] * coefficients[:, :-1]
    return product
