"""Are the moments of renormalized weights those of all possible cohorts?"""

from itertools import combinations

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation import Renormalized, Uniform
from unalike.participation.samplers import renormalized
from unalike.participation.samplers.renormalized import renormalized_statistics


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
    known = renormalized_statistics(importance, m)
    mean, variance = enumerated(importance, m)
    np.testing.assert_allclose(known.mean, mean, rtol=1e-11)
    np.testing.assert_allclose(known.variance, variance, rtol=1e-8, atol=1e-14)


def test_clients_without_importance_weigh_nothing():
    importance = np.array([0.5, 0.3, 0.2, 0.0, 0.0])
    known = renormalized_statistics(importance, 2)
    mean, variance = enumerated(importance, 2)
    np.testing.assert_allclose(known.mean, mean, atol=1e-13)
    np.testing.assert_allclose(known.variance, variance, atol=1e-12)


def test_equal_clients_are_drawn_as_by_uniform_sampling():
    equal = np.full(100, 0.01)
    known, uniform = renormalized_statistics(equal, 10), Uniform(per_round=10).statistics(equal)
    assert known.unbiased
    np.testing.assert_allclose(known.variance, uniform.variance, rtol=1e-9)


def test_important_clients_get_too_little_and_the_others_too_much():
    importance = np.random.default_rng(0).lognormal(size=200)
    importance /= importance.sum()
    known = renormalized_statistics(importance, 10)
    assert known.mean.sum() == pytest.approx(1, abs=1e-12)
    ratio = (known.mean / importance)[np.argsort(importance)]
    assert (np.diff(ratio) < 0).all()
    assert ratio[0] > 1 > ratio[-1]


@pytest.mark.parametrize("per_round", [1, 2, 3, 4])
def test_cohorts_without_any_importance_are_empty_rounds(per_round):
    """Against all cohorts: who takes part, how many, and how the sum of weights varies."""
    importance = np.array([0.5, 0.0, 0.3, 0.0, 0.2, 0.0])
    drawn, weights = [], []
    for cohort in combinations(range(6), per_round):
        share = importance[list(cohort)]
        drawn.append(np.isin(np.arange(6), cohort) & (share.sum() > 0))
        weights.append(share.sum() > 0)
    found = Renormalized(per_round=per_round).statistics(importance)
    np.testing.assert_allclose(found.inclusion, np.mean(drawn, axis=0), atol=1e-12)
    assert found.variance_of_sum == pytest.approx(np.var(weights), abs=1e-12)
    assert found.clients_variance == pytest.approx(np.var(np.sum(drawn, axis=1)), abs=1e-12)
    assert found.mean.sum() == pytest.approx(np.mean(weights))


@pytest.mark.parametrize("per_round", [1, 7, 60])
def test_many_clients_are_counted_as_few_would_be(per_round, monkeypatch):
    importance = np.random.default_rng(0).dirichlet(np.ones(200))
    slow = renormalized_statistics(importance, per_round)
    monkeypatch.setattr(renormalized, "MANY", 10)
    fast = renormalized_statistics(importance, per_round)
    np.testing.assert_allclose(fast.mean, slow.mean, rtol=1e-11)
    np.testing.assert_allclose(fast.variance, slow.variance, rtol=1e-8)


def test_statistics_that_would_take_very_long_are_refused_at_once():
    with pytest.raises(ConfigError, match="their product must be at most"):
        Renormalized(per_round=10_000).statistics(np.full(100_000, 1e-5))
