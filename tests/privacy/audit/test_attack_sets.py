"""Are attacks judged on distinct rows, as many members as others?"""

import numpy as np
import pytest

from unalike.errors import DataError
from unalike.privacy.audit.attack_sets import balance, distinct_sets, row_keys


def rows(*numbers):
    return np.array(numbers, np.float32)[:, None], np.zeros(len(numbers), np.int32)


def test_equal_rows_are_kept_once_and_no_non_member_is_a_member():
    found = distinct_sets(rows(1, 2, 2, 3), rows(3, 4, 4, 5))
    assert found.kept["train"].tolist() == [True, True, False, True]
    assert found.kept["others"].tolist() == [False, True, False, True]
    assert found.said() == [
        "1 repeated training rows were removed.",
        "1 repeated non-members were removed.",
        "1 non-members that equal a member were removed.",
    ]


def test_a_row_of_both_sets_leaves_both():
    found = distinct_sets(rows(1, 2), rows(7, 3), rows(2, 3))
    assert found.kept["train"].tolist() == [True, False]
    assert found.kept["reference"].tolist() == [False, True]
    assert found.kept["others"].tolist() == [True, False]
    assert found.removed["rows in both the training and the reference set"] == 1


def test_rows_differ_by_their_targets_too():
    x = np.zeros((2, 2), np.float32)
    assert len(np.unique(row_keys(x, np.array([0, 1])))) == 2
    assert len(np.unique(row_keys(x, np.array([1, 1])))) == 1


def test_every_stratum_is_balanced_and_as_large_as_possible():
    rng = np.random.default_rng(0)
    member, client, label = rng.random(500) < 0.8, rng.integers(0, 3, 500), rng.integers(0, 4, 500)
    chosen, inside = balance(member, {"client": client, "class": label})
    assert len(np.unique(chosen)) == len(chosen)
    for c in range(3):
        for k in range(4):
            here = (client == c) & (label == k)
            mine = here[chosen]
            assert inside[mine].sum() == (~inside)[mine].sum()
            assert inside[mine].sum() == min(member[here].sum(), (~member)[here].sum())


def test_other_seeds_draw_other_rows_and_the_same_seed_the_same():
    member = np.arange(100) < 80
    first, again, other = (balance(member, {}, seed).rows for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("member", "strata", "words"),
    [
        ([True, True], [0, 0], "no non-members"),
        ([False, False], [0, 0], "no members"),
        ([True, False], [0, 1], "nothing can be compared"),
    ],
)
def test_sets_that_cannot_be_compared_are_refused(member, strata, words):
    with pytest.raises(DataError, match=words):
        balance(np.array(member), {"class": np.array(strata)})
