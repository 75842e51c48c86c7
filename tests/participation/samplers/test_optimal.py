"""Are the optimal probabilities optimal?"""

import numpy as np
import pytest

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.participation import Binomial, Optimal, RoundContext, Uniform
from unalike.participation.samplers.optimal import SMALLEST, optimal_probabilities


def variance(lengths, chances):
    return (lengths**2 * (1 - chances) / chances).sum()


def test_optimal_chances_sum_to_the_draws_and_no_feasible_ones_are_better():
    rng = generator(7, "optimal")
    for _ in range(60):
        n = int(rng.integers(2, 25))
        m, lengths = int(rng.integers(1, n + 1)), rng.lognormal(sigma=2.0, size=n)
        best = optimal_probabilities(lengths, m)
        assert best.sum() == pytest.approx(m, abs=1e-6 * n)
        assert best.min() > 0
        assert best.max() <= 1
        least = variance(lengths, best) * (1 - 1e-5)
        for _ in range(20):
            other = rng.dirichlet(np.full(n, rng.choice([0.3, 1.0, 10.0])))
            mixed = best + rng.random() * (np.minimum(m * other, 1.0) - best)
            mixed = np.clip(mixed * min(1.0, m / mixed.sum()), 1e-9, 1.0)
            assert mixed.sum() <= m + 1e-6
            assert variance(lengths, mixed) >= least


def test_optimal_chances_satisfy_the_conditions_of_the_minimum():
    """Below one they are proportional to the lengths; a sure client is longer than that proportion allows."""
    rng = generator(8, "conditions")
    for _ in range(100):
        n = int(rng.integers(2, 40))
        m, lengths = int(rng.integers(1, n)), rng.lognormal(size=n) + 0.01
        chances = optimal_probabilities(lengths, m)
        ratio = chances / lengths
        free = chances < 1
        assert np.allclose(ratio[free], ratio[free][0])
        assert (lengths[~free] * ratio[free][0] >= 1 - 1e-9).all()


@pytest.mark.parametrize(
    ("lengths", "per_round", "expected"),
    [
        ([1, 1, 1, 1], 2, [0.5, 0.5, 0.5, 0.5]),
        ([1, 2, 3], 3, [1, 1, 1]),
        ([1, 2, 3], 9, [1, 1, 1]),
        ([0, 0, 0], 1, [1 / 3, 1 / 3, 1 / 3]),
        ([1, 3], 1, [0.25, 0.75]),
        ([0, 1, 3], 1, [SMALLEST, 0.25, 0.75]),
        ([np.nan, 1, 3], 1, [SMALLEST, 0.25, 0.75]),
    ],
)
def test_optimal_chances_by_hand(lengths, per_round, expected):
    assert np.allclose(optimal_probabilities(np.array(lengths, float), per_round), expected, atol=1e-12)


def test_optimal_coins_beat_importance_and_uniform_coins():
    rng = generator(9, "orders")
    p, norms = rng.dirichlet(np.ones(20)), rng.lognormal(size=20)
    lengths = p * norms
    best = optimal_probabilities(lengths, 5)
    assert variance(lengths, best) < variance(lengths, np.minimum(1.0, 5 * p))
    assert variance(lengths, best) < variance(lengths, np.full(20, 5 / 20))


def test_optimal_sampling_asks_those_who_are_there_by_their_numbers():
    asked = []

    def ask(question, clients):
        asked.append((question, clients.tolist()))
        return np.ones(len(clients))

    turn = RoundContext(0, np.full(4, 0.25), ask=ask).among(np.array([1, 3]), np.array([0.5, 0.5]))
    cohort = Optimal(per_round=2).cohort(turn)
    assert asked == [("update_norm", [1, 3])]
    assert cohort.clients.tolist() == [0, 1]
    assert np.allclose(cohort.weights, 0.5)


def test_optimal_sampling_never_contacts_clients_without_importance():
    p, norms = np.array([0.0, 0.6, 0.4]), np.array([9.0, 1.0, 1.0])
    turn = RoundContext(0, p, ask=lambda question, clients: norms[clients])
    assert all(0 not in Optimal(per_round=2).cohort(turn).clients for _ in range(50))


def test_optimal_sampling_works_in_training_only():
    with pytest.raises(ConfigError, match="asks clients for their update_norm"):
        Optimal(per_round=1).cohort(RoundContext(0, np.ones(1)))


def test_equal_norms_and_importances_make_optimal_coins_binomial():
    p = np.full(6, 1 / 6)
    one, other = (scheme(per_round=2).statistics(p) for scheme in (Optimal, Binomial))
    assert np.allclose(one.covariance(), other.covariance())
    assert one.variance_of_sum > Uniform(per_round=2).statistics(p).variance_of_sum
