"""Do rank scores and multipliers add up to the objective with its differences between groups?"""

import math
from itertools import combinations

import jax.numpy as jnp
import numpy as np
import pytest

from unalike import ConfigError, Federation
from unalike.algorithms.shared.fair_weights import ClientGroups, choose_lambda, client_groups, rank_scores

GROUPS = np.repeat([0, 1, 2], [3, 5, 2])
SIZES = np.repeat([80, 100, 60], [3, 5, 2])
GOLDEN = ClientGroups(tuple(GROUPS.tolist()), tuple(SIZES / SIZES.sum()), ("a", "b", "c"))
LOSSES = np.array([1.2, 0.7, 1.5])[GROUPS]


def naive_scores(losses):
    return [sum(np.sign(mine - other) for other in losses) for mine in losses]


def objective(groups, losses, lam):
    """sum_k p_k F_k + lam sum_{i<j} |L_i - L_j|, term by term."""
    numbers = np.array(groups.group)
    means = [losses[numbers == g].mean() for g in range(groups.count)]
    gaps = sum(abs(a - b) for a, b in combinations(means, 2))
    return np.dot(groups.importance, losses) + lam * gaps


def random_groups(seed):
    rng = np.random.default_rng(seed)
    numbers = np.concatenate([np.arange(4), rng.integers(0, 4, 9)])
    importance = rng.dirichlet(np.ones(13))
    return ClientGroups(tuple(numbers.tolist()), tuple(importance), tuple("abcd")), rng.exponential(size=13)


def test_golden_values():
    assert GOLDEN.largest_lambda() == pytest.approx(0.0697674419, abs=1e-10)
    assert rank_scores(np.array([1.2, 0.7, 1.5])).tolist() == [0, -2, 2]
    lam = choose_lambda(GOLDEN, 0.9, None)
    counts = np.asarray(GOLDEN.multipliers(LOSSES, lam))
    assert np.allclose(counts[[0, 3, 8]], [1.0, 0.784, 1.9], atol=1e-6)
    assert np.dot(GOLDEN.importance, counts * LOSSES) == pytest.approx(1.0516279070, abs=1e-6)
    assert objective(GOLDEN, LOSSES, lam) == pytest.approx(1.0516279070, abs=1e-9)


def test_four_groups_of_ten_with_strictly_decreasing_losses():
    numbers = np.repeat(np.arange(4), 10)
    groups = ClientGroups(tuple(numbers.tolist()), (1 / 40,) * 40, tuple("abcd"))
    counts = np.asarray(groups.multipliers(4.0 - numbers, 0.01))[::10]
    assert np.allclose(counts, 1 + 0.01 * np.array([3, 1, -1, -3]) / (10 / 40), atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_weighted_losses_are_the_objective_and_counts_sum_to_one(seed):
    groups, losses = random_groups(seed)
    for rho in (0.0, 0.5, 0.99):
        lam = choose_lambda(groups, rho, None)
        counts = np.asarray(groups.multipliers(losses, lam), np.float64)
        assert np.dot(groups.importance, counts) == pytest.approx(1, abs=1e-5)
        assert np.dot(groups.importance, counts * losses) == pytest.approx(
            objective(groups, losses, lam), abs=1e-5
        )
        assert counts.min() > 0


@pytest.mark.parametrize("losses", [[1.0, 1.0, 0.5], [3.0, 1.0, 2.0], [2.0, 2.0, 2.0], [0.0]])
def test_scores_are_signs_of_differences(losses):
    assert rank_scores(np.array(losses)).tolist() == naive_scores(losses)


def test_lambda_beyond_its_maximum_is_refused_with_the_maximum():
    for lam in (GOLDEN.largest_lambda(), 1.0):
        with pytest.raises(ConfigError, match=r"below 0\.0697674"):
            choose_lambda(GOLDEN, 0.5, lam)
    assert choose_lambda(GOLDEN, 0.5, 0.06) == 0.06


def test_one_client_alone_has_no_maximum_and_no_multiplier():
    alone = ClientGroups((0,), (1.0,), ("a",))
    assert math.isinf(alone.largest_lambda())
    assert choose_lambda(alone, 0.5, None) == 0


def federation(groups, sizes=(2, 4, 0)):
    owners = np.repeat(np.arange(len(sizes)), sizes)
    made = Federation.from_owners(
        np.zeros((len(owners), 1)), np.zeros(len(owners), int), owners, clients=len(sizes)
    )
    return made.with_groups(groups)


def test_clients_without_rows_belong_to_no_comparison():
    groups = client_groups(federation(["a", "b", "b"]))
    assert groups.sizes.tolist() == [1, 1]
    counts = np.asarray(groups.multipliers(np.array([1.0, 2.0, 99.0]), 0.1))
    assert np.allclose(counts, [1 - 0.1 * 3, 1 + 0.1 * 3 / 2, 1.0])
    assert client_groups(federation(None)).count == 2


@pytest.mark.parametrize(
    ("groups", "words"), [(["a", "a", "a"], "one group"), (["a", "b", "c"], "no client of the group 'c'")]
)
def test_groups_that_cannot_be_compared_are_refused(groups, words):
    with pytest.raises(ConfigError, match=words):
        client_groups(federation(groups))
    assert client_groups(federation(groups), individual=True).count == 2


def test_groups_whose_clients_have_the_same_loss_are_not_ranked():
    """Whatever their sizes: means of equal numbers must not differ by rounding."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        clients, count = int(rng.integers(5, 60)), int(rng.integers(2, 6))
        numbers = [*range(count), *rng.integers(0, count, clients - count).tolist()]
        groups = ClientGroups(tuple(numbers), (1 / clients,) * clients, tuple("abcdef"[:count]))
        equal = jnp.full(clients, float(rng.uniform(0.1, 5)))
        assert not np.any(rank_scores(groups.mean_losses(equal)))
