"""Is the bound on epsilon below the truth, and does it see what there is?"""

import numpy as np
import pytest
from scipy.stats import beta, binom

from unalike.errors import ConfigError
from unalike.privacy.audit.epsilon import epsilon_lower_bound, p_value, refuted_epsilon


def randomized_response(epsilon, rows, seed):
    """Scores of a mechanism that is exactly epsilon-private: a bit that is told rightly that often."""
    rng = np.random.default_rng(seed)
    member = rng.random(rows) < 0.5
    told = rng.random(rows) < 1 / (1 + np.exp(-epsilon))
    return np.where(told, member, ~member).astype(float), member


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_the_bound_is_below_the_truth_nearly_always_and_near_it(epsilon):
    found = [
        epsilon_lower_bound(*randomized_response(epsilon, 4000, seed), delta=0.0, seed=seed).epsilon
        for seed in range(40)
    ]
    assert np.mean(np.array(found) > epsilon) <= 0.15  # 5 % are allowed for; 40 seeds
    assert np.median(found) >= 0.7 * epsilon - 0.05


def test_without_delta_the_bound_is_the_logit_of_the_exact_lower_limit():
    low = beta.ppf(0.05, 80, 21)
    assert refuted_epsilon(100, 80, 200, 0.0) == pytest.approx(np.log(low / (1 - low)), abs=1e-6)


def test_the_p_value_is_the_naive_sum():
    rows, guesses, right, epsilon, delta = 40, 20, 15, 0.7, 1e-3
    q = np.exp(epsilon) / (1 + np.exp(epsilon))
    tail = sum(binom.pmf(k, guesses, q) for k in range(right, guesses + 1))
    alpha = max(
        sum(binom.pmf(right - j, guesses, q) for j in range(1, i + 1)) / i for i in range(1, right + 1)
    )
    assert p_value(epsilon, guesses, right, rows, delta) == pytest.approx(tail + 2 * rows * delta * alpha)


def test_a_larger_delta_proves_less():
    bounds = [refuted_epsilon(200, 180, 1000, delta) for delta in (0.0, 1e-5, 1e-3)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > bounds[-1]


def test_equal_scores_prove_nothing_however_rows_are_sorted():
    member = np.arange(1000) < 500
    assert epsilon_lower_bound(np.zeros(1000), member).epsilon == 0
    assert epsilon_lower_bound(np.zeros(1000), ~member).epsilon == 0


def test_a_delta_beyond_its_range_is_refused():
    with pytest.raises(ConfigError, match="delta"):
        epsilon_lower_bound(np.zeros(4), np.arange(4) < 2, delta=1.0)
