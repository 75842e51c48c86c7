"""Does every coin fall as often as it should?"""

from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.participation import Binomial, Optimal, Poisson, sampler_registry
from unalike.participation.samplers.poisson import BernoulliDraws


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


def test_samplers_with_coins_are_made_by_name():
    for name, scheme in (("binomial", Binomial), ("poisson", Poisson), ("optimal", Optimal)):
        assert sampler_registry.make(name, per_round=3, seed=1) == scheme(per_round=3)
        with pytest.raises(ConfigError, match="between 1 and the number of clients"):
            scheme(per_round=3).check(2, 1)
