"""Are clients drawn in proportion to their importance, and do weights sum to one?"""

from math import prod

import numpy as np
import pytest
from scipy.stats import chi2

from unalike.core.random import generator
from unalike.participation import Multinomial, RoundContext, sampler_registry
from unalike.participation.samplers.multinomial import MOST_PAIRS

IMPORTANCE = np.array([0.1, 0.4, 0.0, 0.25, 0.25])


class Points:
    """Given random numbers instead of drawn ones."""

    def __init__(self, *points):
        self.points = np.array(points)

    def random(self, size):
        assert size == len(self.points)
        return self.points


def test_weights_are_counts_over_draws_and_sum_to_one():
    sampler, rng = Multinomial(per_round=7), generator(0, "draws")
    for _ in range(200):
        clients, weights, _ = sampler.draw(IMPORTANCE, rng)
        assert (np.diff(clients) > 0).all()
        assert np.allclose(7 * weights, (7 * weights).round())
        assert weights.min() > 0
        assert weights.sum() == pytest.approx(1.0)


def test_single_draws_follow_the_importances():
    sampler, rng = Multinomial(per_round=10), generator(1, "draws")
    counts = np.zeros(5)
    for _ in range(2000):
        clients, weights, _ = sampler.draw(IMPORTANCE, rng)
        counts[clients] += 10 * weights
    expected = 20_000 * IMPORTANCE
    assert counts[2] == 0
    kept = expected > 0
    assert ((counts - expected)[kept] ** 2 / expected[kept]).sum() < chi2.ppf(1 - 1e-6, 3)


def test_a_point_belongs_to_the_client_whose_share_it_falls_into():
    ends = np.nextafter([0.1, 0.5, 0.75, 1.0], 0)
    cohort = Multinomial(per_round=4).draw(IMPORTANCE, Points(*ends))
    assert cohort.clients.tolist() == [0, 1, 3, 4]
    cohort = Multinomial(per_round=4).draw(IMPORTANCE, Points(0.0, 0.1, 0.5, 0.75))
    assert cohort.clients.tolist() == [0, 1, 3, 4]


@pytest.mark.parametrize("importance", [[0.0, 1.0, 0.0], [0.0, 0.3, 0.7, 0.0], [0.0, 1 - 1e-9]])
def test_clients_without_importance_are_never_drawn_at_either_end(importance):
    p = np.array(importance)
    for point in (0.0, np.nextafter(1.0, 0)):
        cohort = Multinomial(per_round=1).draw(p, Points(point))
        assert p[cohort.clients] > 0


def test_ten_of_a_hundred_equal_clients_are_distinct_as_often_as_birthdays():
    rng, sampler, p = generator(2, "birthdays"), Multinomial(per_round=10), np.full(100, 0.01)
    distinct = np.array([len(sampler.draw(p, rng).clients) for _ in range(6000)])
    chance = prod((100 - k) / 100 for k in range(10))
    assert chance == pytest.approx(0.62816, abs=1e-5)
    assert np.mean(distinct == 10) == pytest.approx(chance, abs=5 * np.sqrt(chance * (1 - chance) / 6000))


def test_importances_that_change_are_noticed():
    sampler = Multinomial(per_round=3)
    assert sampler.draw(np.array([1.0, 0.0]), generator(0, "a")).clients.tolist() == [0]
    assert sampler.draw(np.array([0.0, 1.0]), generator(0, "a")).clients.tolist() == [1]


def test_fewer_clients_than_draws_are_served():
    cohort = Multinomial(per_round=9).cohort(RoundContext(0, np.ones(1)))
    assert cohort.clients.tolist() == [0]
    assert cohort.weights == pytest.approx([1.0])


def test_pairs_are_left_out_where_there_are_too_many():
    many = np.full(MOST_PAIRS + 1, 1 / (MOST_PAIRS + 1))
    assert Multinomial(per_round=2).statistics(many).clients_variance is None


def test_it_is_made_by_name():
    assert sampler_registry.make("md", per_round=2, seed=3) == Multinomial(per_round=2)
