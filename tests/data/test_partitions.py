"""Who gets which rows: disjoint, complete, seeded, bounded."""

import time

import numpy as np
import pytest

from unalike.data import partition_registry
from unalike.data.allocation import balanced_choice, proportions
from unalike.data.partitions import dirichlet, pachinko
from unalike.errors import ConfigError

LABELS = np.random.default_rng(0).integers(0, 10, 5000)
COARSE = LABELS // 2
BY_LABEL = [
    "dirichlet:0.3",
    "dirichlet-class:0.3",
    "dirichlet-groups:0.4,3",
    "classes:2",
    "shards:2",
    "pachinko:0.4,10",
]
ALL = [*BY_LABEL, "iid", "lognormal:1", "powerlaw:2"]


def deal(spec, labels=LABELS, clients=50, seed=0, **context):
    context = {"coarse": COARSE, "owners": None} | context
    return partition_registry.make(
        spec, labels=labels, clients=clients, rng=np.random.default_rng(seed), **context
    )


def histograms(rows, labels=LABELS, classes=10):
    counts = np.array([np.bincount(labels[mine], minlength=classes) for mine in rows])
    return counts / counts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("spec", ALL)
@pytest.mark.parametrize("clients", [1, 7, 50, 500])
def test_every_row_goes_to_exactly_one_client_and_nobody_is_empty(spec, clients):
    rows = deal(spec, clients=clients)
    assert len(rows) == clients
    assert min(len(mine) for mine in rows) >= 1
    together = np.concatenate(rows)
    assert together.dtype == np.int64
    assert len(np.unique(together)) == len(together)
    if not (spec == "classes:2" and clients == 1):  # one client with two classes leaves the others to nobody
        np.testing.assert_array_equal(np.sort(together), np.arange(len(LABELS)))


@pytest.mark.parametrize("spec", ALL)
def test_the_seed_decides(spec):
    first, again, other = (deal(spec, seed=s) for s in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert any(not np.array_equal(a, b) for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize("spec", ALL)
def test_more_clients_than_rows_is_refused(spec):
    with pytest.raises(ConfigError, match=r"cannot share|cannot be cut"):
        deal(spec, labels=LABELS[:20], clients=21, coarse=COARSE[:20])


@pytest.mark.parametrize("spec", ALL)
def test_as_many_clients_as_rows_is_one_row_each(spec):
    if spec == "shards:2":
        spec = "shards:1"
    rows = deal(spec, labels=LABELS[:40], clients=40, coarse=COARSE[:40])
    assert [len(mine) for mine in rows] == [1] * 40


@pytest.mark.parametrize("alpha", ["0.001", "1e-8", "1e-300", "0", "1e6", "inf"])
@pytest.mark.parametrize("name", ["dirichlet", "dirichlet-class", "pachinko"])
def test_extreme_alphas_end_quickly(name, alpha):
    start = time.perf_counter()
    rows = deal(f"{name}:{alpha}", clients=500)
    assert sum(map(len, rows)) == len(LABELS)
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    "spec", ["dirichlet:0.3", "dirichlet-class:0.3", "shards:2", "classes:2", "lognormal:1"]
)
def test_sixty_thousand_rows_to_a_thousand_clients_is_quick(spec):
    labels = np.random.default_rng(1).integers(0, 10, 60_000)
    start = time.perf_counter()
    deal(spec, labels=labels, clients=1000)
    assert time.perf_counter() - start < 2  # about a tenth of a second on a free core


def test_a_large_alpha_is_nearly_iid():
    assert np.abs(histograms(deal("dirichlet:1e7", clients=20)) - np.bincount(LABELS) / 5000).max() < 0.05
    assert np.abs(histograms(deal("dirichlet-class:1e7", clients=5)) - 0.1).max() < 0.05


def test_rounding_does_not_leave_some_classes_to_the_last_clients():
    labels = np.repeat(np.arange(3), (420, 330, 250))
    counts = np.array([np.bincount(labels[mine], minlength=3) for mine in deal("dirichlet:inf", labels, 100)])
    close = (np.abs(counts - [4.2, 3.3, 2.5]) < 1).all(axis=1)
    assert close.mean() >= 0.95


def test_a_tiny_alpha_is_one_class_each():
    few = deal("dirichlet:1e-6", clients=20, sizes=[20] * 20)  # small enough for no class to run out
    assert (histograms(few).max(axis=1) == 1).all()


def test_alpha_zero_is_one_class_in_turn():
    rows = deal("dirichlet:0", clients=20, sizes=[50] * 20)
    assert [int(LABELS[mine[0]]) for mine in rows] == [i % 10 for i in range(20)]
    assert (histograms(rows).max(axis=1) == 1).all()


def test_given_sizes_are_respected():
    sizes = np.repeat([10, 25, 50, 75, 100], [10, 30, 30, 20, 10])
    for spec in ("dirichlet:0.01", "iid", "pachinko:0.4,10"):
        rows = deal(spec, clients=100, sizes=sizes)
        assert [len(mine) for mine in rows] == sizes.tolist()


def test_with_replacement_everyone_gets_what_was_drawn():
    rng = np.random.default_rng(3)
    rows = dirichlet(0.5, labels=LABELS, clients=30, rng=rng, sizes=[2000] * 30, replacement=True)
    shares = histograms(rows)
    # Dirichlet(0.5 x 10): the variance of a coordinate is 0.1 * 0.9 / (5 + 1).
    assert shares.var(axis=0).mean() == pytest.approx(0.015, rel=0.4)


def test_proportions_have_the_moments_of_a_dirichlet_law():
    for alpha in (0.05, 0.5, 5.0):
        draws = proportions(alpha, 40_000, 4, np.random.default_rng(0))
        np.testing.assert_allclose(draws.sum(axis=1), 1)
        np.testing.assert_allclose(draws.mean(axis=0), 0.25, atol=0.01)
        np.testing.assert_allclose(draws.var(axis=0), 0.1875 / (4 * alpha + 1), rtol=0.05)


@pytest.mark.parametrize("alpha", [-1.0, float("nan")])
def test_impossible_alphas(alpha):
    with pytest.raises(ConfigError, match="at least 0"):
        deal(f"dirichlet:{alpha}")


@pytest.mark.parametrize("classes", [1, 2, 3, 10])
def test_classes_per_client(classes):
    rows = deal(f"classes:{classes}", clients=40)
    assert all(len(np.unique(LABELS[mine])) == classes for mine in rows)


def test_classes_are_held_equally_often():
    holds = balanced_choice(33, 10, 3, np.random.default_rng(0))
    assert (holds.sum(axis=1) == 3).all()
    assert np.ptp(holds.sum(axis=0)) <= 1


def test_shards_hold_few_classes():
    rows = deal("shards:2", labels=np.repeat(np.arange(10), 100), clients=50)
    assert max(len(np.unique(mine // 100)) for mine in rows) <= 2
    assert {len(mine) for mine in rows} == {20}


def test_groups_share_their_clients():
    rows = deal("dirichlet-groups:0.1,2", clients=8)
    counts = np.array([np.bincount(LABELS[mine], minlength=10) for mine in rows])
    likeness = np.corrcoef(counts.T) > 0.9  # classes of one group have the same profile over clients
    assert sorted(len(group) for group in {tuple(np.flatnonzero(row)) for row in likeness}) == [5, 5]


def test_pachinko_with_a_large_beta_spreads_the_fine_labels_of_a_coarse_one():
    rng = np.random.default_rng(0)
    rows = pachinko(0.1, 1e6, labels=LABELS, coarse=COARSE, clients=5, rng=rng, sizes=[200] * 5)
    counts = histograms(rows) * 200
    assert (
        np.abs(counts[:, 0::2] - counts[:, 1::2]).max() < 60
    )  # four deviations of a fair coin tossed 200 times


def test_pachinko_needs_coarse_labels():
    with pytest.raises(ConfigError, match="needs coarse labels"):
        deal("pachinko", coarse=None)


def test_natural_follows_the_owners():
    owners = np.array([2, 0, 2, 1])
    rows = deal("natural", labels=np.zeros(4, int), owners=owners)
    assert [mine.tolist() for mine in rows] == [[1], [3], [0, 2]]


def test_natural_needs_owners():
    with pytest.raises(ConfigError, match="clients of its own"):
        deal("natural")


@pytest.mark.parametrize(
    "spec", ["classes:11", "classes:0", "classes:1.5", "dirichlet-groups:0.4,11", "shards:0", "dirichle:1"]
)
def test_impossible_arguments(spec):
    with pytest.raises(ConfigError):
        deal(spec)


def test_labels_need_not_be_consecutive():
    labels = np.array([7, 100, -3] * 20)
    assert sum(map(len, deal("dirichlet:0.3", labels=labels, clients=6))) == 60


def test_float_targets_need_another_partition():
    with pytest.raises(ConfigError, match="class label"):
        deal("dirichlet:0.3", labels=np.linspace(0, 1, 50), clients=5)


def test_every_partition_is_explained():
    assert all(partition_registry.explain().values())
