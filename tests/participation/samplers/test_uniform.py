"""Is everyone drawn equally often, and do weights mean what they say?"""

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy.stats import chi2

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.participation import (
    Full,
    OriginalFedAvg,
    Renormalized,
    RoundContext,
    Uniform,
    UniformWithReplacement,
    sampler_registry,
)
from unalike.participation.samplers.uniform import without_replacement

IMPORTANCE = np.array([0.1, 0.4, 0.05, 0.25, 0.2])
WITHOUT_REPLACEMENT = [Uniform, OriginalFedAvg, Renormalized]


def cohorts(sampler, rounds, seed=0, importance=IMPORTANCE):
    return [sampler.cohort(RoundContext(number, importance, seed)) for number in range(rounds)]


class AllSubsets:
    """Deals the subsets one after the other instead of drawing."""

    def __init__(self, clients, size):
        self.left = list(combinations(range(clients), size))

    def choice(self, n, size, replace):
        return np.array(self.left.pop())


def test_full_participation_is_everyone_weighted_by_importance():
    (cohort,) = cohorts(Full(), 1)
    assert cohort.clients.tolist() == [0, 1, 2, 3, 4]
    assert np.array_equal(cohort.weights, IMPORTANCE)


@pytest.mark.parametrize("scheme", WITHOUT_REPLACEMENT)
def test_cohorts_are_distinct_sorted_clients(scheme):
    for cohort in cohorts(scheme(per_round=3), 50):
        assert len(cohort.clients) == len(cohort.weights) == 3
        assert (np.diff(cohort.clients) > 0).all()


@pytest.mark.parametrize("scheme", WITHOUT_REPLACEMENT)
def test_every_subset_is_equally_likely(scheme):
    rng, sampler = generator(1, "subsets"), scheme(per_round=2)
    counts = Counter(tuple(sampler.draw(IMPORTANCE, rng).clients.tolist()) for _ in range(3000))
    subsets = list(combinations(range(5), 2))
    observed = np.array([counts[subset] for subset in subsets])
    assert observed.sum() == 3000
    assert ((observed - 300) ** 2 / 300).sum() < chi2.ppf(1 - 1e-6, len(subsets) - 1)


@pytest.mark.parametrize("per_round", range(1, 6))
def test_weights_average_over_all_subsets_to_what_the_statistics_say(per_round):
    for scheme in WITHOUT_REPLACEMENT:
        dealer, mean, sampler = AllSubsets(5, per_round), np.zeros(5), scheme(per_round=per_round)
        subsets = len(dealer.left)
        for _ in range(subsets):
            cohort = sampler.draw(IMPORTANCE, dealer)
            mean[cohort.clients] += cohort.weights / subsets
        assert np.allclose(mean, sampler.statistics(IMPORTANCE).mean)
        if scheme is Uniform:
            assert np.allclose(mean, IMPORTANCE)
        if scheme is OriginalFedAvg:
            assert np.allclose(mean, IMPORTANCE * per_round / 5)


def test_renormalized_weights_are_importances_within_the_cohort():
    for cohort in cohorts(Renormalized(per_round=3), 30):
        inside = IMPORTANCE[cohort.clients]
        assert np.allclose(cohort.weights, inside / inside.sum())


def test_renormalizing_is_biased_only_where_importances_differ():
    assert not Renormalized(per_round=2).statistics(IMPORTANCE).unbiased
    assert Renormalized(per_round=2).statistics(np.full(5, 0.2)).unbiased
    assert Renormalized(per_round=5).statistics(IMPORTANCE).unbiased


def test_a_cohort_without_importance_is_empty():
    cohort = Renormalized(per_round=2).draw(np.array([0.0, 0.0, 1.0]), AllSubsetsOf([0, 1]))
    assert len(cohort.clients) == len(cohort.weights) == 0


class AllSubsetsOf:
    """Always the same cohort."""

    def __init__(self, clients):
        self.clients = np.array(clients)

    def choice(self, n, size, replace):
        return self.clients


@pytest.mark.parametrize("scheme", WITHOUT_REPLACEMENT)
def test_drawing_everyone_is_full_participation(scheme):
    (cohort,) = cohorts(scheme(per_round=5), 1)
    assert cohort.clients.tolist() == [0, 1, 2, 3, 4]
    assert np.allclose(cohort.weights, IMPORTANCE)


@pytest.mark.parametrize("scheme", [*WITHOUT_REPLACEMENT, UniformWithReplacement])
def test_those_who_are_there_may_be_fewer_than_are_asked_for(scheme):
    turn = RoundContext(0, IMPORTANCE).among(np.array([1, 4]), IMPORTANCE[[1, 4]])
    cohort = scheme(per_round=4).cohort(turn)
    assert set(cohort.clients.tolist()) <= {0, 1}
    if scheme is not UniformWithReplacement:
        assert np.allclose(cohort.weights, [2 / 3, 1 / 3])


def test_clients_without_importance_are_not_contacted():
    p = np.array([0.0, 0.5, 0.5])
    for cohort in cohorts(Uniform(per_round=2), 30, importance=p):
        assert 0 not in cohort.clients
        assert np.allclose(cohort.weights, 0.75)


def test_draws_with_replacement_count_repetitions():
    sampler, rng = UniformWithReplacement(per_round=4), generator(2, "draws")
    for _ in range(100):
        clients, weights, _ = sampler.draw(IMPORTANCE, rng)
        counts = weights / (IMPORTANCE[clients] * 5 / 4)
        assert np.allclose(counts, counts.round())
        assert counts.sum() == pytest.approx(4)


def test_with_replacement_and_equal_importances_is_multinomial():
    from unalike.participation import Multinomial

    p = np.full(6, 1 / 6)
    one, other = UniformWithReplacement(per_round=3).statistics(p), Multinomial(per_round=3).statistics(p)
    assert np.allclose(one.covariance(), other.covariance())
    assert np.allclose(one.inclusion, other.inclusion)
    assert one.clients_variance == pytest.approx(other.clients_variance)


@pytest.mark.parametrize("per_round", [0, -1, 6])
def test_an_impossible_cohort_is_refused_in_words(per_round):
    for scheme in (*WITHOUT_REPLACEMENT, UniformWithReplacement):
        with pytest.raises(
            ConfigError, match=rf"between 1 and the number of clients \(5\), but is {per_round}"
        ):
            scheme(per_round=per_round).check(5, 10)


def test_a_cohort_depends_on_seed_and_round_only():
    one, again, other = (cohorts(Uniform(per_round=2), 20, seed=seed) for seed in (4, 4, 5))
    assert all(np.array_equal(a.clients, b.clients) for a, b in zip(one, again, strict=True))
    assert any(not np.array_equal(a.clients, b.clients) for a, b in zip(one, other, strict=True))
    late = Uniform(per_round=2).cohort(RoundContext(17, IMPORTANCE, 4))
    assert np.array_equal(late.clients, one[17].clients)


def test_samplers_are_made_by_name():
    names = {
        "full": Full(),
        "uniform": Uniform(per_round=3),
        "uniform-with-replacement": UniformWithReplacement(per_round=3),
        "fedavg-original": OriginalFedAvg(per_round=3),
        "fedavg-renormalized": Renormalized(per_round=3),
    }
    for name, sampler in names.items():
        assert sampler_registry.make(name, per_round=3, sizes=None, labels=None, seed=0) == sampler
    with pytest.raises(ConfigError, match="wrong arguments"):
        sampler_registry.make("uniform")


def test_without_replacement_draws_are_distinct_even_of_a_million():
    drawn = without_replacement(1_000_000, 500, generator(3, "million"))
    assert len(set(drawn.tolist())) == 500
    assert (np.diff(drawn) > 0).all()
    assert without_replacement(3, 9, generator(3, "all")).tolist() == [0, 1, 2]


def test_the_number_of_classes_in_a_uniform_round_follows_from_counting():
    """Ten classes of ten clients, ten of them drawn: a class is missed by C(90, 10) of C(100, 10) cohorts."""
    rng, p = generator(4, "classes"), np.full(100, 0.01)
    sampler = Uniform(per_round=10)
    seen = [len(set((sampler.draw(p, rng).clients // 10).tolist())) for _ in range(4000)]
    expected = 10 * (1 - comb(90, 10) / comb(100, 10))
    assert expected == pytest.approx(6.6952, abs=1e-4)
    assert np.mean(seen) == pytest.approx(expected, abs=5 * np.std(seen) / np.sqrt(4000))
