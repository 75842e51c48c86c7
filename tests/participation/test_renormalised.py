"""Are the moments of renormalised weights those of all possible cohorts?"""

from itertools import combinations

import numpy as np
import pytest

from unalike.participation import Uniform
from unalike.participation.renormalised import renormalised_statistics


def enumerated(importance, m):
    """Mean and variance of the weights over all cohorts, one after the other."""
    weights = []
    for cohort in combinations(range(len(importance)), m):
        row, total = np.zeros(len(importance)), sum(importance[list(cohort)])
        for client in cohort:
            row[client] = importance[client] / total if total > 0 else 0.0
        weights.append(row)
    return np.mean(weights, axis=0), np.var(weights, axis=0)


@pytest.mark.parametrize("spread", [0.0, 0.5, 3.0])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (5, 1), (6, 3), (9, 8), (7, 7)])
def test_moments_equal_those_of_all_cohorts(n, m, spread):
    importance = np.exp(spread * np.random.default_rng(n).normal(size=n))
    importance /= importance.sum()
    known = renormalised_statistics(importance, m)
    mean, variance = enumerated(importance, m)
    np.testing.assert_allclose(known.mean, mean, rtol=1e-11)
    np.testing.assert_allclose(known.variance, variance, rtol=1e-8, atol=1e-14)


def test_clients_without_importance_weigh_nothing():
    importance = np.array([0.5, 0.3, 0.2, 0.0, 0.0])
    known = renormalised_statistics(importance, 2)
    mean, variance = enumerated(importance, 2)
    np.testing.assert_allclose(known.mean, mean, atol=1e-13)
    np.testing.assert_allclose(known.variance, variance, atol=1e-12)


def test_equal_clients_are_drawn_as_by_uniform_sampling():
    equal = np.full(100, 0.01)
    known, uniform = renormalised_statistics(equal, 10), Uniform(per_round=10).statistics(equal)
    assert known.unbiased
    np.testing.assert_allclose(known.variance, uniform.variance, rtol=1e-9)


def test_important_clients_get_too_little_and_the_others_too_much():
    importance = np.random.default_rng(0).lognormal(size=200)
    importance /= importance.sum()
    known = renormalised_statistics(importance, 10)
    assert known.mean.sum() == pytest.approx(1, abs=1e-12)
    ratio = (known.mean / importance)[np.argsort(importance)]
    assert (np.diff(ratio) < 0).all()
    assert ratio[0] > 1 > ratio[-1]
