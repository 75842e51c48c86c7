"""Are groups by class what they should be, to the last unit?"""

import numpy as np
import pytest

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.participation import RoundContext, sampler_registry
from unalike.participation.samplers.clustered import Clustered, Target
from unalike.participation.samplers.clustered_size import ClusteredBySize


def expected_classes(matrix, labels):
    """The mean number of classes among one draw from each row."""
    present = [1 - np.prod(1 - matrix[:, labels == label].sum(axis=1)) for label in np.unique(labels)]
    return sum(present)


def test_the_target_draws_one_client_of_each_class():
    labels = np.array(["b", "a", "c", "a", "b", "c", "c"])
    sizes = np.array([3, 4, 2, 2, 3, 1, 3])
    sampler = Target(per_round=3, sizes=sizes, labels=labels)
    p, rng = sizes / 18, generator(3, "target")
    sampler.line(p).check(sizes)
    for _ in range(50):
        cohort = sampler.cohort(RoundContext(0, p))
        assert sorted(labels[sampler.draw(p, rng).clients]) == ["a", "b", "c"]
        assert np.allclose(cohort.weights, 1 / 3)
    assert expected_classes(sampler.matrix(p), labels) == pytest.approx(3)


def test_perfect_groups_leave_no_noise():
    labels, p = np.repeat(np.arange(5), 4), np.full(20, 0.05)
    x = generator(4, "x").normal(size=(5, 3))[labels]
    found = Target(per_round=5, labels=labels).statistics(p)
    assert found.unbiased
    assert found.second_moment(x) == pytest.approx(((p @ x) ** 2).sum(), abs=1e-13)


def test_the_target_keeps_classes_apart_where_importances_were_rounded():
    labels = np.arange(21) % 7
    for seed in range(20):
        shares = generator(seed, "shares").dirichlet(np.ones(3), size=7)
        p = shares.T.ravel() / 7
        matrix = Target(per_round=7, labels=labels).matrix(p)
        assert not matrix[np.arange(7)[:, None] != labels].any()
        assert np.allclose(matrix.sum(axis=0), 7 * p, rtol=1e-12)


def test_the_target_knows_the_classes_of_those_who_are_there():
    labels = np.array([0, 1, 0, 1, 0])
    turn = RoundContext(0, np.full(5, 0.2)).among(np.array([1, 4]), np.array([0.5, 0.5]))
    assert Target(per_round=2, labels=labels).cohort(turn).clients.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("labels", "importance", "words"),
    [
        (None, [0.5, 0.5], "needs the class of each client, as labels"),
        ([0, 1, 1], [0.5, 0.5], r"labels needs one entry per client \(2\), but has shape \(3,\)"),
        ([4, 4], [0.5, 0.5], "there are 1 classes, but per_round is 2"),
        (["x", "y"], [0.4, 0.6], "importance 1/2 each, but class x has 0.4, class y has 0.6"),
        (["x", "y"], [1.0, 0.0], "class x has 1, class y has 0"),
    ],
)
def test_a_target_that_cannot_be_unbiased_is_refused(labels, importance, words):
    sampler = Target(per_round=2, labels=None if labels is None else np.array(labels))
    with pytest.raises(ConfigError, match=words):
        sampler.draw(np.array(importance), generator(0, "x"))


def test_samplers_are_checked_before_anything_is_computed():
    with pytest.raises(ConfigError, match="between 1 and the number of clients"):
        ClusteredBySize(per_round=5).check(4, 10)
    with pytest.raises(ConfigError, match=r"sizes needs one entry per client \(4\), but has shape \(3,\)"):
        ClusteredBySize(per_round=2, sizes=[1, 2, 3]).check(4, 10)
    with pytest.raises(ConfigError, match="needs the class of each client"):
        Target(per_round=2).check(4, 10)
    with pytest.raises(ConfigError, match=r"labels needs one entry per client \(4\)"):
        Target(per_round=2, labels=np.arange(2)).check(4, 10)
    Target(per_round=2, labels=np.arange(4) % 2, sizes=np.ones(4)).check(4, 10)


def test_clustered_samplers_are_made_by_name():
    made = sampler_registry.make(
        "clustered-size", per_round=3, sizes=[1, 2], labels=[0, 1], seed=8, other=None
    )
    assert made == ClusteredBySize(per_round=3, seed=8)
    assert made.sizes == [1, 2]
    assert sampler_registry.make("target", per_round=2, labels=[0, 1]).labels == [0, 1]
    with pytest.raises(NotImplementedError, match="must implement line"):
        Clustered(per_round=1).draw(np.ones(1), generator(0, "x"))
