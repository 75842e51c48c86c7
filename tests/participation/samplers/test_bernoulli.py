"""Does every coin fall as often as it should, and are the optimal ones optimal?"""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, chi2

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.participation import Binomial, Optimal, Poisson, RoundContext, Uniform, sampler_registry
from unalike.participation.samplers.poisson_bernoulli import SMALLEST, BernoulliDraws, optimal_probabilities


def tosses(probabilities, count, seed=0):
    coins, rng = BernoulliDraws(np.array(probabilities)), generator(seed, "coins")
    heads = np.zeros((count, len(probabilities)), bool)
    for row in heads:
        row[coins.toss(rng)] = True
    return heads


BORDERS = [
    1.0,
    0.5,
    0.25,
    2.0**-5,
    np.nextafter(0.5, 0),
    np.nextafter(0.5, 1),
    np.nextafter(0.25, 1),
    0.3,
    0.7,
]


def test_coins_fall_as_often_as_they_should_also_at_powers_of_two():
    count, chances = 6000, np.array([*BORDERS, 0.0, 1e-300])
    heads = tosses(chances, count)
    error = np.sqrt(chances * (1 - chances) / count)
    assert (np.abs(heads.mean(axis=0) - chances) <= 5 * error).all()
    assert heads[:, 0].all()
    assert not heads[:, -2:].any()


def test_coins_are_independent():
    chances, count = [1.0, 0.6, 0.55, 0.2, 0.15, 0.5], 6000
    heads = tosses(chances, count, seed=1)
    observed, expected = [], []
    for outcome in product([False, True], repeat=6):
        chance = np.prod([q if head else 1 - q for q, head in zip(chances, outcome, strict=True)])
        seen = (heads == outcome).all(axis=1).sum()
        assert chance > 0 or seen == 0
        if chance > 0:
            observed.append(seen)
            expected.append(count * chance)
    observed, expected = np.array(observed), np.array(expected)
    assert ((observed - expected) ** 2 / expected).sum() < chi2.ppf(1 - 1e-6, len(expected) - 1)


def test_heads_are_sorted_and_distinct():
    coins, rng = BernoulliDraws(generator(2, "chances").random(50)), generator(2, "toss")
    for _ in range(50):
        heads = coins.toss(rng)
        assert heads.dtype == np.int64
        assert (np.diff(heads) > 0).all()


def test_no_coin_can_show_heads_if_all_chances_are_zero():
    assert len(BernoulliDraws(np.zeros(4)).toss(generator(0, "x"))) == 0


def test_a_drawer_opens_for_few_of_a_million_coins():
    chances = np.full(1_000_000, 2e-5)
    heads = BernoulliDraws(chances).toss(generator(3, "million"))
    assert 0 < len(heads) < 20 + 5 * np.sqrt(20)


def test_binomial_rounds_have_binomially_many_clients():
    sampler, p, rng = Binomial(per_round=3), np.full(8, 0.125), generator(4, "binomial")
    sizes = np.bincount([len(sampler.draw(p, rng).clients) for _ in range(4000)], minlength=9)
    expected = 4000 * binom.pmf(np.arange(9), 8, 3 / 8)
    usual = expected > 5
    assert ((sizes - expected)[usual] ** 2 / expected[usual]).sum() < chi2.ppf(1 - 1e-6, usual.sum())
    assert sizes[0] > 0


def test_binomial_coins_of_everyone_are_full_participation():
    p = np.array([0.2, 0.0, 0.8])
    for per_round in (3, 7):
        cohort = Binomial(per_round=per_round).draw(p, generator(0, "x"))
        assert cohort.clients.tolist() == [0, 2]
        assert np.allclose(cohort.weights, [0.2, 0.8])


def test_poisson_weights_are_one_over_the_draws_and_rounds_may_be_empty():
    sampler, p, rng = Poisson(per_round=2), np.array([0.25, 0.0, 0.4, 0.35]), generator(5, "poisson")
    drawn = [sampler.draw(p, rng) for _ in range(500)]
    assert all(np.allclose(cohort.weights, 0.5) for cohort in drawn)
    assert not any(1 in cohort.clients for cohort in drawn)
    empty = (1 - 2 * p).prod()
    observed = np.mean([len(cohort.clients) == 0 for cohort in drawn])
    assert observed == pytest.approx(empty, abs=5 * np.sqrt(empty / 500))


def test_poisson_takes_a_client_with_all_it_can_hold_every_time():
    sampler, rng = Poisson(per_round=2), generator(6, "sure")
    assert all(0 in sampler.draw(np.array([0.5, 0.3, 0.2]), rng).clients for _ in range(50))
    thirds = np.full(3, 1 / 3)
    assert all(len(Poisson(per_round=3).draw(thirds, rng).clients) == 3 for _ in range(50))


def test_poisson_refuses_a_client_that_one_draw_cannot_hold():
    p = np.array([0.45, 0.35, 0.2])
    words = r"needs no importance above 1/3, but the largest is 0.45; draw at most 2"
    for ask in (Poisson(per_round=3).statistics, lambda p: Poisson(per_round=3).draw(p, generator(0, "x"))):
        with pytest.raises(ConfigError, match=words):
            ask(p)


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


def test_samplers_with_coins_are_made_by_name():
    for name, scheme in (("binomial", Binomial), ("poisson", Poisson), ("optimal", Optimal)):
        assert sampler_registry.make(name, per_round=3, seed=1) == scheme(per_round=3)
        with pytest.raises(ConfigError, match="between 1 and the number of clients"):
            scheme(per_round=3).check(2, 1)
