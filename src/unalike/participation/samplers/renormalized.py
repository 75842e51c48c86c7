"""Exact weight statistics of renormalized cohorts: what does a client really count?

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

from ...errors import ConfigError
from ...typing import Float64s
from .statistics import WeightStatistics

SPACING = 0.25
"""Of the points in u; the rule's error is about exp(-pi^2 / spacing)."""
ROUNDING = 1e-11
"""A variance below this part of the mean square is none."""
MOST_COHORTS = 200_000
"""Up to so many possible cohorts, covariances are enumerated."""
MANY, LARGEST_SHARE = 5000, 0.4
"""From so many clients on, all but one are found by dividing the product of all; that needs a small share of
clients in a cohort."""
MOST_WORK = 200_000_000
"""Clients times draws, at most, for so many."""
MOST_CELLS = 2_000_000
"""Points are taken in batches, so that tables of clients x points x draws stay this small."""


def renormalized_statistics(importance: Float64s, per_round: int) -> WeightStatistics:
    """Mean and variance of renormalized weights, to about ten digits; covariances where cohorts are few.

    >>> equal = np.full(100, 0.01)
    >>> renormalized_statistics(equal, 10).unbiased
    True
    """
    n, m = len(importance), min(per_round, len(importance))
    mean, square = _moments(importance, m)
    variance = square - mean**2
    variance[variance < ROUNDING * square] = 0.0
    nobody, among_nobody = _without_importance(importance, m)
    return WeightStatistics(
        importance,
        mean,
        variance,
        m / n - np.where(importance > 0, 0.0, among_nobody),
        nobody * (1 - nobody),
        pairwise=partial(enumerated_covariance, importance, m) if _few_cohorts(n, m) else None,
        clients_variance=m * m * nobody * (1 - nobody),
    )


def _moments(importance: Float64s, m: int) -> tuple[Float64s, Float64s]:
    """The means and mean squares of all weights."""
    n = len(importance)
    many = n > MANY and m < LARGEST_SHARE * n
    if many and n * m > MOST_WORK:
        raise ConfigError(
            f"the statistics of fedavg-renormalized take too long for {n} clients of which {m} are drawn; "
            f"their product must be at most {MOST_WORK:.0e}."
        )
    mean, square = np.zeros(n), np.zeros(n)
    points = _points(importance, m)
    batch = 1 if many else max(MOST_CELLS // (n * m), 1)
    for first in range(0, len(points), batch):
        t = points[first : first + batch]
        together = _laplace_of_many(importance, m, float(t[0])) if many else _laplace(importance, m, t)
        mean += importance * (together @ t) * SPACING
        square += importance**2 * (together @ t**2) * SPACING
    return mean, square


def _without_importance(importance: Float64s, m: int) -> tuple[float, float]:
    """The chances that nobody in a cohort has any importance, so that nothing happens in the round, and that
    a given client without importance is in such a cohort."""
    n, zeros = len(importance), int((importance <= 0).sum())
    if zeros < m:
        return 0.0, 0.0
    nobody = float(np.exp(_log_choose(zeros, m) - _log_choose(n, m)))
    return nobody, nobody * m / zeros


def _log_choose(n: int, m: int) -> float:
    gammaln = scipy.special.gammaln
    return float(gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1))


def _few_cohorts(n: int, m: int) -> bool:
    return _log_choose(n, m) < 20 and comb(n, m) <= MOST_COHORTS


def enumerated_covariance(importance: Float64s, per_round: int) -> Float64s:
    """The covariances of renormalized weights, by enumerating all cohorts."""
    n = len(importance)
    cohorts = np.array(list(combinations(range(n), per_round)), np.int64)
    weights = np.zeros((len(cohorts), n))
    shares = importance[cohorts]
    sums = np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
    np.put_along_axis(weights, cohorts, shares / sums, axis=1)
    return np.cov(weights, rowvar=False, bias=True).reshape(n, n)


def _points(importance: Float64s, m: int) -> Float64s:
    """From where exp(-t s) is one for the largest sum s of a cohort to where it is nothing for the least."""
    ordered = np.sort(importance)
    least = max(float(ordered[:m].sum()), float(ordered[ordered > 0][0]))
    most = float(ordered[-m:].sum())
    return np.exp(np.arange(np.log(1e-13 / most), np.log(40 / least), SPACING))


def _laplace(importance: Float64s, m: int, t: Float64s) -> Float64s:
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


def _laplace_of_many(importance: Float64s, m: int, t: float) -> Float64s:
    """The same at one t: the product of all factors, divided by each client's own."""
    n, share = len(importance), m / len(importance)
    heads = share * np.exp(-importance * t)
    product = _product(heads, 1 - share, m)
    # (1 - share + head y) quotient = product; errors shrink from one coefficient to the next, because head is
    # smaller than 1 - share.
    quotient = np.full(n, product[0] / (1 - share))
    for k in range(1, m):
        quotient = (product[k] - heads * quotient) / (1 - share)
    return (heads * quotient / scipy.stats.binom.pmf(m, n, share))[:, None]


def _product(heads: Float64s, tail: float, m: int) -> Float64s:
    """The first m coefficients of prod_j (tail + head_j y), by pairs of pairs; all terms are positive."""
    parts = np.stack([np.full(len(heads), tail), heads], axis=1)[:, :m]
    while len(parts) > 1:
        if len(parts) % 2:
            one = np.zeros((1, parts.shape[1]))
            one[0, 0] = 1.0
            parts = np.concatenate([parts, one])
        left, right = parts[::2], parts[1::2]
        width = min(2 * parts.shape[1] - 1, m)
        joined = np.zeros((len(left), width))
        for k in range(left.shape[1]):
            end = min(width, k + right.shape[1])
            joined[:, k:end] += left[:, k : k + 1] * right[:, : end - k]
        parts = joined
    return np.pad(parts[0], (0, m - parts.shape[1]))


def _running_products(heads: Float64s, share: float, m: int) -> Float64s:
    """The first m coefficients of the product of all factors before each client's."""
    products = np.zeros((*heads.shape, m))
    products[0, :, 0] = 1.0
    for i in range(len(heads) - 1):
        products[i + 1] = _times(products[i], heads[i], share)
    return products


def _times(coefficients: Float64s, head: Float64s, share: float) -> Float64s:
    product = (1 - share) * coefficients
    product[:, 1:] += head[:, None] * coefficients[:, :-1]
    return product
