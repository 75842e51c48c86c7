"""Are the classes that a round sees counted exactly?"""

from itertools import combinations, product
from math import comb, factorial

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation import (
    Binomial,
    Full,
    Multinomial,
    OriginalFedAvg,
    Poisson,
    Renormalized,
    Sampler,
    Uniform,
    UniformWithReplacement,
)
from unalike.participation.samplers.clustered import Target
from unalike.participation.samplers.clustered_size import ClusteredBySize
from unalike.theory.sampling.coverage import chance_distinct, chance_empty, chance_missed, classes_seen

IMPORTANCE = np.array([0.3, 0.25, 0.2, 0.15, 0.1, 0.0])
LABELS = np.array([0, 1, 1, 2, 0, 3])
DIGITS = np.repeat(np.arange(10), 10)
EQUAL = np.full(100, 0.01)


def number_of_classes(clients):
    return len({LABELS[i] for i in clients if IMPORTANCE[i] > 0})


def naive_draws(chances, m):
    """E[classes] over all sequences of m independent draws."""
    sequences = product(range(6), repeat=m)
    return sum(np.prod(chances[list(s)]) * number_of_classes(s) for s in sequences)


def naive_coins(chances):
    outcomes = product([0, 1], repeat=6)
    return sum(
        np.prod(np.where(heads, chances, 1 - chances)) * number_of_classes(np.flatnonzero(heads))
        for heads in map(np.array, outcomes)
    )


def naive_cohorts(m):
    cohorts = list(combinations(range(6), m))
    return sum(map(number_of_classes, cohorts)) / len(cohorts)


def naive_rows(matrix):
    sequences = product(range(6), repeat=len(matrix))
    return sum(np.prod(matrix[range(len(matrix)), list(s)]) * number_of_classes(s) for s in sequences)


@pytest.mark.parametrize(
    ("sampler", "expected"),
    [
        (Full(), 3.0),
        (Multinomial(per_round=3), naive_draws(IMPORTANCE, 3)),
        (UniformWithReplacement(per_round=3), naive_draws(np.full(6, 1 / 6), 3)),
        (Uniform(per_round=4), naive_cohorts(4)),
        (OriginalFedAvg(per_round=2), naive_cohorts(2)),
        (Renormalized(per_round=6), naive_cohorts(6)),
        (Binomial(per_round=2), naive_coins(np.full(6, 1 / 3))),
        (Poisson(per_round=3), naive_coins(3 * IMPORTANCE)),
        (ClusteredBySize(per_round=3), naive_rows(ClusteredBySize(per_round=3).matrix(IMPORTANCE))),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Sampler) else "",
)
def test_expected_classes_equal_those_of_all_possible_rounds(sampler, expected):
    assert classes_seen(sampler, IMPORTANCE, LABELS) == pytest.approx(expected, rel=1e-12)


def test_ten_draws_among_a_hundred_clients_with_one_digit_each_see_six_or_seven_digits():
    assert classes_seen(Multinomial(per_round=10), EQUAL, DIGITS) == pytest.approx(10 * (1 - 0.9**10))
    assert classes_seen(Multinomial(per_round=10), EQUAL, DIGITS) == pytest.approx(6.5132, abs=1e-4)
    without = 10 * (1 - comb(90, 10) / comb(100, 10))
    assert classes_seen(Uniform(per_round=10), EQUAL, DIGITS) == pytest.approx(without, rel=1e-12)
    assert without == pytest.approx(6.6952, abs=1e-4)
    assert classes_seen(Target(per_round=10, labels=DIGITS), EQUAL, DIGITS) == pytest.approx(10)


def test_all_ten_draws_among_a_hundred_clients_differ_in_63_of_100_rounds():
    expected = factorial(100) / factorial(90) / 100**10
    assert chance_distinct(EQUAL, 10) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(0.62816, abs=1e-5)


def test_distinct_draws_of_unequal_clients_equal_enumeration():
    expected = sum(np.prod(IMPORTANCE[list(s)]) for s in product(range(6), repeat=3) if len(set(s)) == 3)
    assert chance_distinct(IMPORTANCE, 3) == pytest.approx(expected)
    assert chance_distinct(IMPORTANCE, 1) == pytest.approx(1)
    assert chance_distinct(IMPORTANCE, 6) == 0  # the sixth client has no importance


def test_a_table_of_label_counts_says_which_clients_hold_a_class():
    table = np.array([[5, 1], [0, 2], [3, 0]])
    thirds = np.full(3, 1 / 3)
    assert classes_seen(Uniform(per_round=1), thirds, table) == pytest.approx(4 / 3)
    assert chance_missed(Uniform(per_round=2), thirds, table > 0) == pytest.approx([0, 0])


@pytest.mark.parametrize(
    ("sampler", "expected"),
    [
        (Full(), 0),
        (Multinomial(per_round=2), 0),
        (Uniform(per_round=1), 1 / 6),  # only the client without importance
        (Uniform(per_round=2), 0),
        (ClusteredBySize(per_round=2), 0),
        (Binomial(per_round=3), 0.5**5),
        (Poisson(per_round=3), np.prod(1 - 3 * IMPORTANCE)),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Sampler) else "",
)
def test_the_chance_of_an_empty_round(sampler, expected):
    assert chance_empty(sampler, IMPORTANCE) == pytest.approx(expected, abs=1e-12)


def test_an_unknown_sampler_has_no_closed_form():
    class Mine(Sampler):
        pass

    with pytest.raises(ConfigError, match="which clients Mine misses has no closed form"):
        classes_seen(Mine(), EQUAL, DIGITS)
