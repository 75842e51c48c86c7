"""Skews change features and nothing else."""

import numpy as np
import pytest

from unalike.data import Federation, skew_registry
from unalike.data.skews import client_angles
from unalike.errors import ConfigError


def images(clients=4, rows=10):
    rng = np.random.default_rng(0)
    x = np.zeros((clients * rows, 9, 9, 1), np.float32)
    x[:, 4, 4:] = 1  # a hand of a clock pointing right
    owners = np.repeat(np.arange(clients), rows)
    return Federation.from_owners(x, rng.integers(0, 2, len(x)), owners, test_fraction=0.2)


@pytest.mark.parametrize("spec", ["rotation:40", "noise:0.5"])
def test_labels_sizes_and_the_original_stay(spec):
    before = images()
    after = skew_registry.make(spec, federation=before, seed=1)
    for part in ("train", "test"):
        old, new = getattr(before, part), getattr(after, part)
        np.testing.assert_array_equal(new.y, old.y)
        np.testing.assert_array_equal(new.offsets, old.offsets)
        assert new.x.shape == old.x.shape
        assert new.x.dtype == np.float32
        assert (new.x != old.x).any()
    np.testing.assert_array_equal(before.train.x, images().train.x)


@pytest.mark.parametrize("spec", ["rotation:0", "noise:0"])
def test_no_skew_changes_nothing(spec):
    after = skew_registry.make(spec, federation=images(), seed=1)
    np.testing.assert_allclose(after.train.x, images().train.x, atol=1e-6)


def test_a_client_is_turned_by_one_angle_that_is_its_own():
    after = skew_registry.make("rotation:80", federation=images(), seed=1)
    angles = client_angles(80, 4, 1)
    assert (np.abs(angles) <= 80).all()
    for i in range(4):
        x = after.train.client(i)[0][..., 0]
        assert np.ptp(x, axis=0).max() == 0
        down, right = np.average(np.indices((9, 9)).reshape(2, -1) - 4, axis=1, weights=x[0].ravel())
        assert np.degrees(np.arctan2(-down, right)) == pytest.approx(angles[i], abs=6)


def test_noise_grows_with_the_client():
    zeros = Federation.from_owners(
        np.zeros((4000, 10), np.float32), np.zeros(4000, int), np.repeat(np.arange(4), 1000)
    )
    x = skew_registry.make("noise:2", federation=zeros, seed=0).train
    np.testing.assert_allclose([x.client(i)[0].std() for i in range(4)], [0.5, 1.0, 1.5, 2.0], rtol=0.05)


def test_the_seed_decides():
    first, again, other = (
        skew_registry.make("noise", federation=images(), seed=s).train.x for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_skews_that_make_no_sense():
    rows = Federation.from_owners(np.zeros((4, 3), np.float32), np.zeros(4, int), np.arange(4))
    with pytest.raises(ConfigError, match="needs images"):
        skew_registry.make("rotation", federation=rows)
    symbols = Federation.from_owners(np.zeros((4, 3), np.int32), np.zeros(4, int), np.arange(4))
    with pytest.raises(ConfigError, match="not symbols"):
        skew_registry.make("noise", federation=symbols)
