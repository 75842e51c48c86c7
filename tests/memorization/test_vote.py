"""Do neighbors count and vote as the formula says, and is lambda the best one?"""

import math

import jax.numpy as jnp
import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.memorization import (
    GRID,
    Rule,
    interpolate,
    kernel_registry,
    mean_target,
    middle_of_best,
    votes,
    weights,
)
from unalike.memorization.embedding import Embedded
from unalike.memorization.interpolation_weight import check_choice, own_share, scores
from unalike.memorization.kernels import median_sigma
from unalike.models import Model, Task
from unalike.models.losses import logistic

CLASSIFY = Task.classification(Model(lambda key: {}, lambda params, x: x), 3)
REGRESS = Task.regression(Model(lambda key: {}, lambda params, x: x))


@pytest.mark.parametrize("kernel", list(kernel_registry))
def test_weights_are_the_formula(kernel):
    distances, p, sigma = [0.5, 1.0, 3.0], 4, 0.7
    exponent = {"euclid": lambda d: d, "sq_over_p": lambda d: d * d / p, "uniform": lambda d: 0.0}[kernel]
    raw = [math.exp(-exponent(d) / sigma) for d in distances]
    found = weights(np.float32([distances]), kernel, sigma, p)
    assert np.allclose(found, np.array([raw]) / sum(raw), atol=1e-6)


def test_huge_distances_do_not_make_nothing_of_nothing():
    found = weights(np.float32([[1e6, 1e6 + 50, 1e7]]))
    assert np.allclose(found, [[1, 0, 0]], atol=1e-6)


def test_equal_distances_count_the_same():
    assert np.allclose(weights(np.zeros((2, 5), np.float32)), 0.2)


def test_a_small_scale_counts_the_nearest_alone_and_a_large_one_everybody():
    distances = np.float32([[1.0, 1.5, 2.0]])
    assert weights(distances, sigma=1e-3)[0].tolist() == [1, 0, 0]
    assert np.allclose(weights(distances, sigma=1e6), 1 / 3, atol=1e-5)


def test_no_neighbors_have_no_weights():
    assert weights(np.zeros((3, 0), np.float32)).shape == (3, 0)


def test_the_median_scale_makes_the_median_exponent_one():
    keys = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    for kernel in ("euclid", "sq_over_p"):
        scale = median_sigma(keys, 5, kernel)
        assert median_sigma(keys * 3, 5, kernel) == pytest.approx(
            scale * (3 if kernel == "euclid" else 9), 1e-5
        )
    assert median_sigma(np.zeros((5, 3), np.float32), 2) == 1
    assert median_sigma(keys[:1], 2) == 1


@pytest.mark.parametrize("sigma", [0, -1.0, "mean", float("nan")])
def test_a_scale_must_be_positive(sigma):
    with pytest.raises(ConfigError, match="sigma must be"):
        Rule(sigma=sigma)


def test_votes_are_sums_of_weights():
    rng = np.random.default_rng(1)
    counted, labels = rng.dirichlet(np.ones(6), 5).astype(np.float32), rng.integers(0, 4, (5, 6))
    expected = [
        [sum(w for w, y in zip(*row, strict=True) if y == c) for c in range(4)]
        for row in zip(counted, labels, strict=True)
    ]
    assert np.allclose(votes(counted, labels, 4), expected, atol=1e-6)


def test_class_weights_change_the_vote():
    found = votes(np.float32([[0.5, 0.5]]), np.array([[0, 1]]), 2, class_weights=[3, 1])
    assert np.allclose(found, [[0.75, 0.25]])


def test_a_regression_takes_the_mean():
    assert mean_target(np.float32([[0.25, 0.75]]), np.float32([[4.0, 8.0]])).tolist() == [7.0]
    assert mean_target(np.float32([[0.5, 0.5]]), np.float32([[[0, 2], [4, 6]]])).tolist() == [[2, 4]]


def test_interpolation_ends_at_its_parts():
    near, common = np.float32([[1, 0]]), np.float32([[0.3, 0.7]])
    assert np.array_equal(interpolate(0, near, common), common)
    assert np.array_equal(interpolate(1, near, common), near)


# Choosing lambda.


@pytest.mark.parametrize(
    ("tied", "middle"),
    [
        ([0, 0, 1, 0, 0, 0, 0], 0.3),
        ([1, 1, 1, 0, 0, 0, 0], 0.1),
        ([1, 1, 1, 1, 1, 1, 1], 0.5),
        ([1, 1, 0, 0, 0, 0, 0], 0.1),
        ([0, 0, 0, 0, 0, 1, 1], 0.9),
        ([0, 0, 1, 0, 1, 0, 0], 0.3),  # equally far from one half: the smaller
        ([1, 0, 0, 0, 0, 0, 1], 0.0),
        ([0, 0, 0, 1, 1, 1, 1], 0.7),
    ],
)
def test_of_equally_good_shares_the_middle_one_is_taken(tied, middle):
    for xp in (np, jnp):
        assert GRID[int(middle_of_best(xp.asarray(tied), xp=xp))] == middle


def test_scores_count_right_answers():
    near, common = np.float32([[1, 0, 0], [0, 1, 0]]), np.float32([[0.2, 0.5, 0.3], [0.2, 0.2, 0.6]])
    # Row one turns to class 0 when s + 0.2 (1 - s) > 0.5 (1 - s); row two to class 1 when s > 0.4 (1 - s).
    expected = [(s > 0.3 * (1 - s)) + (s > 0.4 * (1 - s)) for s in GRID]
    assert scores(CLASSIFY, near, common, np.array([0, 1])).tolist() == expected


def test_scores_of_a_regression_are_squared_errors():
    near, common, y = np.float32([1, 2]), np.float32([3, 3]), np.float32([2, 2])
    expected = [-sum((s * a + (1 - s) * b - 2) ** 2 for a, b in ((1, 3), (2, 3))) for s in GRID]
    assert np.allclose(scores(REGRESS, near, common, y), expected, atol=1e-6)


def test_scores_of_one_logit_count_right_answers():
    task = Task(CLASSIFY.model, logistic)
    assert scores(task, np.float32([1.0]), np.float32([0.2]), np.array([1]), (0.0, 0.3, 0.5)).tolist() == [
        0,
        0,
        1,
    ]


def rows_of(n, seed=0, separable=True):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    keys = rng.normal(size=(n, 2)) + (10 * np.stack([labels, labels**2], 1) if separable else 0)
    common = rng.dirichlet(np.ones(3), n)
    return Embedded(keys.astype(np.float32), common.astype(np.float32), labels, np.array([0, n]))


@pytest.mark.parametrize("choose", ["loo", "holdout", "kfold"])
def test_a_client_with_few_rows_does_not_choose(choose):
    assert own_share(CLASSIFY, Rule(), rows_of(0), choose) == 0
    assert own_share(CLASSIFY, Rule(), rows_of(1), choose) == 0.3
    assert own_share(CLASSIFY, Rule(), rows_of(4), choose) == 0.3


@pytest.mark.parametrize("choose", ["loo", "holdout", "kfold"])
def test_a_memory_that_is_always_right_is_trusted(choose):
    assert own_share(CLASSIFY, Rule(k=3), rows_of(60), choose) >= 0.5


@pytest.mark.parametrize("choose", ["loo", "holdout", "kfold"])
def test_a_memory_that_knows_nothing_is_not_trusted(choose):
    rows = rows_of(60, separable=False)
    sure = rows._replace(common=np.eye(3, dtype=np.float32)[rows.labels])
    assert own_share(CLASSIFY, Rule(k=3), sure, choose) <= 0.5


def test_leave_one_out_is_a_search_without_the_row():
    rows, rule = rows_of(12, seed=5, separable=False), Rule(k=2)
    totals = np.zeros(len(GRID))
    for i in range(12):
        rest = np.delete(np.arange(12), i)
        near = rule.ask(
            CLASSIFY, rows.keys[rest], rows.labels[rest], rows.keys[i : i + 1], rows.common[i : i + 1]
        )
        totals += scores(CLASSIFY, near, rows.common[i : i + 1], rows.labels[i : i + 1])
    assert own_share(CLASSIFY, rule, rows, "loo") == GRID[int(middle_of_best(totals))]


def test_validation_rows_are_looked_up_in_the_store():
    rows, asked, rule = rows_of(20, 1), rows_of(9, 2), Rule(k=2)
    near = rule.ask(CLASSIFY, rows.keys, rows.labels, asked.keys, asked.common)
    best = GRID[int(middle_of_best(scores(CLASSIFY, near, asked.common, asked.labels)))]
    assert own_share(CLASSIFY, rule, rows, "validation", validation=asked) == best
    assert own_share(CLASSIFY, rule, rows, "validation", validation=rows_of(0)) == 0.5


def test_a_given_share_is_taken_and_a_wrong_one_refused():
    assert own_share(CLASSIFY, Rule(), rows_of(3), 0.8) == 0.8
    with pytest.raises(ConfigError, match="between 0 and 1"):
        check_choice(1.2)
    with pytest.raises(ConfigError, match="did you mean 'loo'"):
        check_choice("lo")
