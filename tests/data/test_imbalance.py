"""Do the two knobs of imbalance do what they say?"""

import numpy as np
import pytest

from unalike.data.imbalance import deal_by_imbalance, draw_label_shares, draw_log_normal_sizes
from unalike.data.loader import load
from unalike.errors import ConfigError

CLASSES, CLIENTS = 10, 40
LABELS = np.repeat(np.arange(CLASSES), 2000)


def table(class_imbalance, data_imbalance, seed=0):
    dealt = deal_by_imbalance(LABELS, CLIENTS, class_imbalance, data_imbalance, np.random.default_rng(seed))
    assert np.array_equal(np.sort(np.concatenate(dealt)), np.arange(len(LABELS)))  # each row once
    return np.array([np.bincount(LABELS[mine], minlength=CLASSES) for mine in dealt])


def entropy(counts):
    shares = counts / counts.sum(axis=1, keepdims=True)
    return float(-(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=1).mean())


def test_without_imbalance_everyone_has_the_same():
    assert (table(0, 0) == 2000 // CLIENTS).all()


@pytest.mark.parametrize(
    ("imbalance", "bits", "top"), [(1, 2.78, 0.29), (5, 1.79, 0.53), (10, 1.41, 0.62), (100, 0.47, 0.88)]
)
def test_label_entropy_and_the_top_class_are_those_of_the_reference(imbalance, bits, top):
    tables = [table(imbalance, 0, seed) for seed in range(3)]
    assert np.mean([entropy(counts) for counts in tables]) == pytest.approx(bits, abs=0.25)
    shares = [(counts / counts.sum(axis=1, keepdims=True)).max(axis=1).mean() for counts in tables]
    assert np.mean(shares) == pytest.approx(top, rel=0.1)


def test_data_imbalance_is_the_variance_of_logarithms_of_sizes():
    sizes = np.concatenate([table(0, 0.5, seed).sum(axis=1) for seed in range(20)])
    assert np.log(sizes).var() == pytest.approx(0.5, rel=0.2)


def test_data_imbalance_keeps_labels_balanced():
    counts = table(0, 1)
    assert counts.sum(axis=1).max() > 5 * counts.sum(axis=1).min()
    assert entropy(counts) > 3.2


def test_huge_imbalance_gives_nearly_everyone_one_class():
    shares = draw_label_shares(30, 5, 1e9, np.random.default_rng(0))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.isfinite(shares).all()


def test_empty_clients_are_left_out():
    dealt = deal_by_imbalance(np.arange(12) % 3, 12, 0.0, 9.0, np.random.default_rng(0))
    assert 0 < len(dealt) <= 12
    assert min(len(mine) for mine in dealt) >= 1
    assert sum(len(mine) for mine in dealt) == 12


@pytest.mark.parametrize("knobs", ["-1,0", "0,-1", "nan,0", "0,inf"])
def test_impossible_knobs_are_refused(knobs):
    with pytest.raises(ConfigError, match="imbalance of"):
        load("digits", partition=f"imbalance:{knobs}", clients=5)


def test_a_strict_draw_gives_everyone_exactly_what_it_wants():
    labels = np.arange(3000) % 5
    some = deal_by_imbalance(labels, 30, 1.0, 0.5, np.random.default_rng(3), strict=True)
    rng = np.random.default_rng(3)
    for k in range(5):  # the same draws: piles are shuffled before sizes and shares are drawn
        rng.permutation(np.flatnonzero(labels == k))
    sizes = draw_log_normal_sizes(100, 30, 0.5, rng)
    wanted = np.floor(sizes[:, None] * draw_label_shares(30, 5, 1.0, rng)).astype(int)
    got = np.array([np.bincount(labels[mine], minlength=5) for mine in some])
    assert 0 < len(some) < 30
    np.testing.assert_array_equal(got, wanted[: len(some)])
    assert (wanted[: len(some) + 1].sum(axis=0) > 600).any()  # the next one would have been short of a class
    assert len(np.unique(np.concatenate(some))) == got.sum()


def test_a_strict_draw_of_equal_classes_without_imbalance_deals_all_rows():
    some = deal_by_imbalance(np.arange(500) % 5, 10, 0.0, 0.0, np.random.default_rng(0), strict=True)
    assert [len(mine) for mine in some] == [50] * 10


def test_the_strict_mode_has_a_name():
    dealt, strict = (load("digits", partition=f"imbalance:1,0{mode}", clients=10) for mode in ("", ",strict"))
    assert len(strict) < len(dealt) == 10


def test_other_modes_are_refused():
    with pytest.raises(ConfigError, match="all-rows, or is strict"):
        load("digits", partition="imbalance:1,0,exact", clients=5)
