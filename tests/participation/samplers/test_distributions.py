"""Is a line of pieces exactly the distributions it stands for?"""

from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.participation.samplers.distributions import (
    LONGEST,
    ClusterDistributions,
    integer_sizes,
    overlaps,
)

LINE = ClusterDistributions(np.array([1, 0, 3, 1]), np.array([5, 8, 3, 2]), distributions=3, population=4)
BY_HAND = np.array([[1, 5, 0, 0], [6, 0, 0, 0], [1, 2, 0, 3]]) / 6


def naive_matrix(line):
    """One unit of length after the other."""
    units = np.repeat(line.clients, line.amounts).reshape(line.distributions, -1)
    return np.array([[(stretch == i).mean() for i in range(line.population)] for stretch in units])


def random_line(rng):
    n, m = rng.integers(1, 8), rng.integers(1, 6)
    amounts = rng.integers(1, 9, size=rng.integers(1, 12))
    amounts[0] += -amounts.sum() % m
    return ClusterDistributions(rng.integers(n, size=len(amounts)), amounts, int(m), int(n))


def test_the_matrix_is_the_share_of_each_client_in_each_stretch():
    assert np.array_equal(LINE.matrix(), BY_HAND)
    rng = generator(0, "lines")
    for _ in range(200):
        line = random_line(rng)
        assert np.allclose(line.matrix(), naive_matrix(line), atol=1e-15)
        assert (line.table().sum(axis=1) == line.length).all()


def test_draws_follow_the_product_of_the_distributions():
    rng = generator(1, "draws")
    drawn = np.array([LINE.draw(rng) for _ in range(20_000)])
    expected, observed = [], []
    for outcome in product(range(4), repeat=3):
        chance = np.prod([BY_HAND[k, i] for k, i in enumerate(outcome)])
        count = (drawn == outcome).all(axis=1).sum()
        assert chance > 0 or count == 0
        if chance > 0:
            expected.append(20_000 * chance)
            observed.append(count)
    expected, observed = np.array(expected), np.array(observed)
    assert ((observed - expected) ** 2 / expected).sum() < chi2.ppf(1 - 1e-6, len(expected) - 1)


def test_moments_equal_those_of_all_outcomes():
    rng = generator(2, "moments")
    for _ in range(30):
        line = random_line(rng)
        r, m, n = line.matrix(), line.distributions, line.population
        if n**m > 3000:
            continue
        outcomes = list(product(range(n), repeat=m))
        chances = np.array([np.prod([r[k, i] for k, i in enumerate(o)]) for o in outcomes])
        weights = np.array([np.bincount(o, minlength=n) / m for o in outcomes])
        mean = chances @ weights
        found = line.statistics(mean)
        covariance = (weights - mean).T @ (chances[:, None] * (weights - mean))
        present = weights > 0
        distinct = present.sum(axis=1)
        assert np.allclose(found.mean, mean, atol=1e-12)
        assert np.allclose(found.covariance(), covariance, atol=1e-12)
        assert np.allclose(found.inclusion, chances @ present, atol=1e-12)
        assert found.expected_clients == pytest.approx(chances @ distinct, abs=1e-12)
        assert found.clients_variance == pytest.approx(
            chances @ distinct**2 - (chances @ distinct) ** 2, abs=1e-11
        )


def test_the_second_moment_is_that_of_multinomial_sampling_less_the_means_of_the_groups():
    rng = generator(3, "second moment")
    for _ in range(50):
        line = random_line(rng)
        r, m = line.matrix(), line.distributions
        p, x = r.sum(axis=0) / m, rng.normal(size=(line.population, 3))
        squares, mean = p @ (x**2).sum(axis=1), ((p @ x) ** 2).sum()
        expected = squares / m + mean - ((r @ x) ** 2).sum() / m**2
        found = line.statistics(p).second_moment(x)
        assert found == pytest.approx(expected, abs=1e-12)
        assert found <= squares / m + (1 - 1 / m) * mean + 1e-12


def test_the_number_of_distinct_clients_is_left_out_where_there_are_too_many_pairs():
    many = 2001
    line = ClusterDistributions(np.arange(many), np.full(many, 3), 3, many)
    assert line.statistics(np.full(many, 1 / many)).clients_variance is None


def test_validity_is_checked_in_whole_numbers_that_floats_cannot_hold():
    sizes = np.array([2**58 + 1, 2**58 - 1, 2**59])
    line = ClusterDistributions(np.arange(3), 4 * sizes, 4, 3)
    line.check(sizes)
    with pytest.raises(ConfigError, match=f"client 0 holds {2**60 + 4} of the line, but should hold {2**60}"):
        line.check(np.array([2**58, 2**58, 2**59]))
    with pytest.raises(ConfigError, match="should hold"):
        line.check(2 * sizes[::-1])


@pytest.mark.parametrize(
    ("clients", "amounts", "distributions", "words"),
    [
        ([0, 1], [3, 0], 1, "positive length"),
        ([0, 1], [3], 1, "needs a client"),
        ([], [], 1, "positive length"),
        ([0, 1], [3, 4], 2, "length 7 cannot be cut into 2 equal stretches"),
        ([0], [3], 0, "cannot be cut into 0"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused(clients, amounts, distributions, words):
    with pytest.raises(ConfigError, match=words):
        ClusterDistributions(np.array(clients, np.int64), np.array(amounts, np.int64), distributions, 2)


def test_overlaps_join_the_cuts_of_both_ways():
    rng = generator(4, "overlaps")
    for _ in range(100):
        total = int(rng.integers(1, 30))
        ways = [np.append(np.sort(rng.integers(0, total + 1, size=rng.integers(0, 6))), total) for _ in "ab"]
        first, second, lengths = overlaps(*ways)
        units = [np.searchsorted(way, np.arange(total), side="right") for way in ways]
        assert lengths.min() > 0
        assert np.array_equal(np.repeat(first, lengths), units[0])
        assert np.array_equal(np.repeat(second, lengths), units[1])


def test_nothing_overlaps_nothing():
    assert all(len(part) == 0 for part in overlaps(np.zeros(0, np.int64), np.zeros(2, np.int64)))


def test_sizes_are_used_as_they_are_where_importance_is_their_share():
    sizes = np.array([7, 11, 0, 3])
    assert integer_sizes(sizes / 21, 4, sizes).tolist() == [7, 11, 0, 3]
    assert integer_sizes(sizes / 21, 4, [7.0, 11.0, 0.0, 3.0]).tolist() == [7, 11, 0, 3]


@pytest.mark.parametrize(
    "sizes", [None, [1, 1, 1], [1, 2], [0.1, 0.2, 0.7], [-1, 5, 3], [2**61, 2**62, 2**61]]
)
def test_other_importances_are_counted_in_tiny_units(sizes):
    importance = np.array([0.1, 0.2, 0.7])
    units = integer_sizes(importance, 5, sizes)
    assert LONGEST / 8 < 5 * int(units.sum()) <= LONGEST
    assert np.allclose(units / units.sum(), importance, rtol=1e-15)


@pytest.mark.parametrize("draws", [1, 3, 1000, 10**6])
@pytest.mark.parametrize("clients", [1, 3, 7, 1000])
def test_equal_importances_become_equal_numbers(clients, draws):
    units = integer_sizes(np.full(clients, 1 / clients), draws)
    assert len(set(units.tolist())) == 1
    assert draws * int(units[0]) * clients <= LONGEST


def test_clients_without_importance_hold_nothing_and_others_their_share():
    importance = generator(5, "importance").dirichlet(np.full(1000, 0.3))
    importance[::7] = 0.0
    importance /= importance.sum() * (1 + 1e-7)  # the sum is a little less than one
    units = integer_sizes(importance, 30)
    assert (units[::7] == 0).all()
    assert np.abs(units / units.sum() - importance / importance.sum()).max() < 1e-15
