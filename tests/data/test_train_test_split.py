"""Train, validation and test rows of a client."""

import numpy as np
import pytest

from unalike.data.train_test_split import TEST, TRAIN, VALIDATION, assign_parts
from unalike.errors import ConfigError


def counts(owners, parts, clients, part):
    return np.bincount(owners[parts == part], minlength=clients)


def test_each_client_is_cut_by_the_same_fractions():
    owners = np.repeat(np.arange(3), (10, 20, 50))
    parts = assign_parts(owners, 3, 0.2, 0.1, seed=1)
    assert counts(owners, parts, 3, TEST).tolist() == [2, 4, 10]
    assert counts(owners, parts, 3, VALIDATION).tolist() == [1, 2, 5]


@pytest.mark.parametrize("fractions", [(0.99, 0.0), (0.5, 0.49), (0.0, 0.99)])
def test_everyone_keeps_a_row_to_train_on(fractions):
    owners = np.repeat(np.arange(6), np.arange(1, 7))
    parts = assign_parts(owners, 6, *fractions, seed=0)
    assert counts(owners, parts, 6, TRAIN).min() >= 1


def test_a_clients_cut_does_not_depend_on_the_others():
    alone = assign_parts(np.zeros(30, int), 1, 0.3, 0.0, seed=5)
    together = assign_parts(np.r_[np.ones(9, int), np.zeros(30, int)], 2, 0.3, 0.0, seed=5)
    np.testing.assert_array_equal(alone, together[9:])


def test_the_seed_decides():
    owners = np.zeros(100, int)
    first, again, other = (assign_parts(owners, 1, 0.5, 0.0, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_ordered_rows_are_cut_in_time():
    parts = assign_parts(np.zeros(10, int), 1, 0.2, 0.3, seed=0, ordered=True)
    assert parts.tolist() == [TRAIN] * 5 + [VALIDATION] * 3 + [TEST] * 2


def test_rows_are_tested_equally_often_over_seeds():
    tested = sum(assign_parts(np.zeros(10, int), 1, 0.2, 0.0, seed=s) == TEST for s in range(600))
    assert abs(tested - 120).max() < 50  # five standard deviations of a binomial(600, 0.2)


@pytest.mark.parametrize("fractions", [(1.0, 0.0), (0.5, 0.5), (-0.1, 0.0), (0.1, -0.1), (float("nan"), 0.0)])
def test_impossible_fractions_are_refused(fractions):
    with pytest.raises(ConfigError, match="nothing to train on"):
        assign_parts(np.zeros(3, int), 1, *fractions, seed=0)
