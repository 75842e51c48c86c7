"""Are reference rows a random part of every client's training rows, and is nothing lost?"""

import numpy as np
import pytest

import unalike
from unalike.data.reference_rows import reference_sizes, shuffle_rows, split_reference
from unalike.testing import example_federation


def rows(federation, i):
    x, y = federation.train.client(i)
    return sorted(map(tuple, np.column_stack([x, y]).tolist()))


def test_every_row_is_in_one_of_the_two_parts():
    federation = example_federation(4)
    training, reference = split_reference(federation, 0.3)
    for i in range(4):
        assert sorted(rows(training, i) + rows(reference, i)) == rows(federation, i)
    assert np.array_equal(reference.train.sizes, reference_sizes(federation.train.sizes, 0.3))
    assert np.array_equal(training.importance, federation.importance)


def test_shuffling_keeps_every_client_s_rows_and_follows_from_the_seed():
    federation = example_federation(4)
    one, same, other = (shuffle_rows(federation, seed) for seed in (1, 1, 2))
    for i in range(4):
        assert rows(one, i) == rows(federation, i)
    assert np.array_equal(one.train.x, same.train.x)
    assert not np.array_equal(one.train.x, other.train.x)


def test_after_shuffling_the_reference_rows_of_sorted_labels_have_all_labels():
    x, y = np.arange(200.0)[:, None], np.repeat([0, 1], 100)
    federation = unalike.Federation.from_owners(x, y, np.zeros(200, int), test_fraction=0.0)
    share = split_reference(shuffle_rows(federation, 0), 0.5).reference.train.y.mean()
    assert 0.3 < share < 0.7


@pytest.mark.parametrize("fraction", [-0.1, 1.0, float("nan")])
def test_fractions_that_leave_nothing_to_train_on_are_refused(fraction):
    with pytest.raises(unalike.ConfigError, match="at least 0 and below 1"):
        reference_sizes(np.array([3]), fraction)
