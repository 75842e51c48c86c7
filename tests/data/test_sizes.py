"""Sizes are whole, at least one, and add up."""

import numpy as np
import pytest

from unalike.data.sizes import allot, draw_sizes, largest_remainder, size_law_registry
from unalike.errors import ConfigError


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    "spec", ["equal", "lognormal:0", "lognormal:2", "lognormal:100", "powerlaw:1.01", "powerlaw:3"]
)
@pytest.mark.parametrize(("rows", "clients"), [(1000, 30), (7, 7), (60_000, 1000)])
def test_laws_of_sizes(spec, rows, clients):
    sizes = draw_sizes(spec, rows, clients, rng())
    assert sizes.sum() == rows
    assert sizes.min() >= 1
    assert len(sizes) == clients


def test_equal_sizes_differ_by_at_most_one():
    assert np.ptp(draw_sizes(None, 1003, 10, rng())) == 1


def test_a_larger_sigma_is_more_unequal():
    spread = [np.std(draw_sizes(f"lognormal:{sigma}", 10_000, 100, rng())) for sigma in (0.1, 1, 2)]
    assert spread[0] < spread[1] < spread[2]


def test_logarithms_of_lognormal_sizes_have_the_given_deviation():
    sizes = draw_sizes("lognormal:0.7", 20_000_000, 2000, rng())
    assert np.std(np.log(sizes)) == pytest.approx(0.7, rel=0.05)


def test_largest_remainder_stays_within_one_of_the_share():
    for seed in range(50):
        shares = rng(seed).dirichlet(np.ones(9))
        counts = largest_remainder(shares, 101)
        assert counts.sum() == 101
        assert np.abs(counts - 101 * shares).max() < 1


def test_allot_fills_up_to_the_room():
    for seed in range(100):
        r = rng(seed)
        room = r.integers(0, 20, 6)
        total = int(r.integers(0, room.sum() + 1))
        counts = allot(total, r.dirichlet(np.full(6, 0.2)), room)
        assert counts.sum() == total
        assert (counts <= room).all()
        assert (counts >= 0).all()


def test_allot_ends_even_when_the_divider_misbehaves():
    stubborn = lambda shares, total: np.array([total, 0, 0])  # noqa: E731
    assert allot(5, np.ones(3) / 3, np.array([1, 2, 3]), stubborn).tolist() == [1, 2, 2]


@pytest.mark.parametrize("sizes", [[1, 2], [0, 5, 5], [50, 50, 1], "lognormall:1", "powerlaw:1"])
def test_impossible_sizes(sizes):
    with pytest.raises(ConfigError):
        draw_sizes(sizes, 100, 3, rng())


def test_every_law_is_explained():
    assert all(size_law_registry.explain().values())
