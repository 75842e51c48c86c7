"""Is everyone drawn equally often, and do weights mean what they say?"""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

from unalike.errors import ConfigError
from unalike.participation import Full, Participation, Uniform, check_per_round, participations
from unalike.random import generator

IMPORTANCE = np.array([0.1, 0.4, 0.05, 0.25, 0.2])


def draws(participation, rounds, seed=0):
    return [participation.draw(r, IMPORTANCE, generator(seed, "participation", r)) for r in range(rounds)]


def test_full_participation_is_everyone_weighted_by_importance():
    cohort = Full().draw(3, IMPORTANCE, generator(0, "participation", 3))
    assert cohort.clients.tolist() == [0, 1, 2, 3, 4]
    assert np.array_equal(cohort.weights, IMPORTANCE)


def test_uniform_cohorts_are_distinct_sorted_clients_with_weights_that_sum_to_one():
    for cohort in draws(Uniform(3), 50):
        assert len(cohort.clients) == len(set(cohort.clients.tolist())) == 3
        assert (np.diff(cohort.clients) > 0).all()
        assert cohort.weights.sum() == pytest.approx(1.0)
        assert np.allclose(cohort.weights, IMPORTANCE[cohort.clients] / IMPORTANCE[cohort.clients].sum())


def test_every_subset_is_equally_likely():
    counts = Counter(tuple(cohort.clients.tolist()) for cohort in draws(Uniform(2), 3000, seed=1))
    subsets = list(combinations(range(5), 2))
    observed = np.array([counts[subset] for subset in subsets])
    statistic = ((observed - 300) ** 2 / 300).sum()
    assert observed.sum() == 3000
    assert statistic < chi2.ppf(0.999, len(subsets) - 1)


def test_unbiased_weights_average_exactly_to_the_importance_over_all_subsets():
    class AllSubsets:
        """Deals the subsets one after the other instead of drawing."""

        def __init__(self, size):
            self.left = list(combinations(range(5), size))

        def choice(self, n, size, replace):
            return np.array(self.left.pop())

    for per_round in range(1, 6):
        dealer, mean = AllSubsets(per_round), np.zeros(5)
        subsets = len(dealer.left)
        for _ in range(subsets):
            cohort = Uniform(per_round, unbiased=True).draw(0, IMPORTANCE, dealer)
            mean[cohort.clients] += cohort.weights / subsets
        assert np.allclose(mean, IMPORTANCE)


def test_drawing_everyone_is_full_participation():
    for unbiased in (False, True):
        cohort = Uniform(5, unbiased).draw(0, IMPORTANCE, generator(0, "participation", 0))
        assert cohort.clients.tolist() == [0, 1, 2, 3, 4]
        assert np.allclose(cohort.weights, IMPORTANCE)


@pytest.mark.parametrize("per_round", [0, -1, 6])
def test_an_impossible_cohort_is_refused_in_words(per_round):
    with pytest.raises(ConfigError, match=rf"between 1 and the number of clients \(5\), but is {per_round}"):
        check_per_round(per_round, 5)
    with pytest.raises(ConfigError):
        Uniform(per_round).draw(0, IMPORTANCE, generator(0, "participation", 0))


def test_a_cohort_depends_on_seed_and_round_only():
    one, again = draws(Uniform(2), 20, seed=4), draws(Uniform(2), 20, seed=4)
    assert all(np.array_equal(a.clients, b.clients) for a, b in zip(one, again, strict=True))
    other = draws(Uniform(2), 20, seed=5)
    assert any(not np.array_equal(a.clients, b.clients) for a, b in zip(one, other, strict=True))


def test_participations_are_made_by_name():
    assert participations.make("uniform:3") == Uniform(3)
    assert participations.make("full") == Full()


def test_a_plain_participation_learns_nothing_and_has_no_state():
    plain = Participation()
    plain.observe(0, Full().draw(0, IMPORTANCE, generator(0, "x")), {})
    plain.restore(plain.state())
    assert plain.state() == {}
    with pytest.raises(NotImplementedError):
        plain.draw(0, IMPORTANCE, generator(0, "x"))
