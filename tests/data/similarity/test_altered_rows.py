"""Are rows altered as said, and does the similarity graph notice?"""

import numpy as np
import pytest

from unalike.data import Federation, load
from unalike.data.similarity import measure_similarity
from unalike.data.similarity.altered_rows import with_noise, with_part_of_rows
from unalike.errors import ConfigError


@pytest.fixture
def federation():
    return load("digits", partition="imbalance:0,0", clients=20, test_fraction=0)


def test_noise_has_the_standard_deviation_that_is_asked_for(federation):
    added = with_noise(federation, 0.3).train.x - federation.train.x
    assert added.std() == pytest.approx(0.3, rel=0.01)
    assert np.array_equal(with_noise(federation, 0.3).train.y, federation.train.y)


def test_a_part_of_the_rows_is_a_random_part_of_each_clients_own(federation):
    half = with_part_of_rows(federation, 0.5)
    np.testing.assert_array_equal(half.train.sizes, np.round(federation.train.sizes / 2))
    for i in range(3):
        mine = {row.tobytes() for row in federation.train.client(i)[0]}
        assert all(row.tobytes() in mine for row in half.train.client(i)[0])
    assert not np.array_equal(half.train.x, with_part_of_rows(federation, 0.5, seed=1).train.x)
    assert np.array_equal(with_part_of_rows(federation, 1.0).train.x, federation.train.x)


def test_fewer_rows_cost_half_their_logarithm_where_clients_are_alike(federation):
    whole, part = (
        measure_similarity(f).homogeneity for f in (federation, with_part_of_rows(federation, 0.25))
    )
    assert part - whole == pytest.approx(np.log(0.25) / 2, abs=0.2)


def test_noise_lowers_homogeneity(federation):
    levels = [measure_similarity(with_noise(federation, sigma)).homogeneity for sigma in (0, 0.5, 1.0)]
    assert np.diff(levels).max() < -0.05


@pytest.mark.parametrize("part", [0.0, 1.5, np.nan])
def test_impossible_changes_are_refused(federation, part):
    with pytest.raises(ConfigError, match=r"fraction of rows must be in \(0, 1\]"):
        with_part_of_rows(federation, part)
    with pytest.raises(ConfigError, match="not possible"):
        with_noise(federation, -1.0)
    symbols = Federation.from_owners(np.ones((2, 3), np.int64), np.zeros(2, int), np.zeros(2, int))
    with pytest.raises(ConfigError, match="symbols"):
        with_noise(symbols, 0.1)
