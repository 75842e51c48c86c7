"""Do rules equal their definitions, whatever the order, the weights and who is missing, and bear lies?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike.aggregation.base import Uploads, aggregator_registry
from unalike.aggregation.robust.base import Votes, as_rows
from unalike.aggregation.robust.bucketing import fill_buckets
from unalike.aggregation.robust.sorting import sort_columns
from unalike.errors import ConfigError

from . import oracles

CLIENTS, NUMBERS = 11, 4
RULES = {
    "mean": oracles.mean,
    "median": oracles.median,
    "trimmed-mean:0.2": oracles.trimmed_mean(0.2),
    "krum:2": oracles.multi_krum(2, 1),
    "multi-krum:2,5": oracles.multi_krum(2, 5),
    "bulyan:2": oracles.bulyan(2),
    "geometric-median:200": oracles.geometric_median,
    "centered-clipping:0.7,3": oracles.centered_clipping(0.7, 3),
    "nnm:2,mean": oracles.nearest_neighbors(2, oracles.mean),
    "nnm:2,trimmed-mean:0.2": oracles.nearest_neighbors(2, oracles.trimmed_mean(0.2)),
    "nnm:1,multi-krum:2,3": oracles.nearest_neighbors(1, oracles.multi_krum(2, 3)),
}
ROBUST = [name for name in RULES if name not in ("mean", "nnm:2,mean", "nnm:1,multi-krum:2,3")]
"""Those that bear two lies: a mean bears none wherever it is, and mixing for one lie bears one."""
DRAWING = ["bucketing:2,median", "bucketing:2,geometric-median:50", "bucketing:1,nnm:2,krum:2"]
KEY = jax.random.key(5)


def some_rows(seed, clients=CLIENTS):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(clients, NUMBERS)), rng.uniform(0.5, 2.0, clients)


def estimate(name, rows, weights, present=None):
    present = np.ones(len(rows)) if present is None else present
    votes = Votes(*(jnp.asarray(a, jnp.float32) for a in (rows, present, weights)), KEY)
    return np.asarray(aggregator_registry.make(name).estimate(votes))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_its_definition(name, seed):
    rows, weights = some_rows(seed)
    np.testing.assert_allclose(estimate(name, rows, weights), RULES[name](rows, weights), atol=2e-5)


@pytest.mark.parametrize("name", RULES)
def test_who_is_not_present_is_as_if_it_had_not_been_asked(name):
    rows, weights = some_rows(4, CLIENTS + 3)
    missing = np.isin(np.arange(len(rows)), [0, 5, 13])
    rows[missing] = 1e6
    kept = ~missing
    expected = RULES[name](rows[kept], weights[kept])
    np.testing.assert_allclose(estimate(name, rows, weights, kept), expected, atol=2e-5)


@pytest.mark.parametrize("name", RULES)
def test_the_order_of_clients_means_nothing(name):
    rows, weights = some_rows(6)
    order = np.random.default_rng(0).permutation(len(rows))
    shuffled = estimate(name, rows[order], weights[order])
    np.testing.assert_allclose(estimate(name, rows, weights), shuffled, atol=2e-5)


@pytest.mark.parametrize("name", [*RULES, *DRAWING])
def test_equal_uploads_give_that_upload(name):
    row, weights = np.linspace(-0.3, 0.3, NUMBERS), np.linspace(1, 2, CLIENTS)
    rule = "centered-clipping:0.7,3" if name.startswith("centered") else name
    np.testing.assert_allclose(estimate(rule, np.tile(row, (CLIENTS, 1)), weights), row, atol=1e-5)


@pytest.mark.parametrize("size", [1e3, 1e12, 3e38])
@pytest.mark.parametrize("direction", ["alike", "opposed"])
@pytest.mark.parametrize("name", [*ROBUST, *DRAWING])
def test_two_lies_of_any_size_do_not_move_the_answer_out_of_the_honest_range(name, direction, size):
    """The honest lie within one of 3 in every coordinate; the answer does too, with some room for rules that
    bound a distance rather than every coordinate."""
    rng = np.random.default_rng(1)
    rows = 3 + rng.uniform(-1, 1, (CLIENTS, NUMBERS))
    rows[[2, 7]] = size
    rows[7] *= 1 if direction == "alike" else -1
    if name.startswith("centered"):
        name = "centered-clipping:3,20"
    answer = estimate(name, rows, np.ones(CLIENTS))
    assert np.abs(answer - 3).max() < 2.5
    assert np.abs(estimate("mean", rows, np.ones(CLIENTS))).max() > 50 or direction == "opposed"


def test_a_rule_that_bears_one_lie_in_eleven_buckets_of_one_is_the_rule_itself():
    rows, weights = some_rows(8)
    plain, bucketed = (estimate(name, rows, weights) for name in ("krum:1", "bucketing:1,krum:1"))
    np.testing.assert_allclose(plain, bucketed, atol=1e-6)


def test_buckets_hold_every_upload_once_and_their_mean_is_the_mean():
    rows, weights = some_rows(9)
    np.testing.assert_allclose(
        estimate("bucketing:3,mean", rows, weights), oracles.mean(rows, weights), atol=1e-5
    )
    present = jnp.asarray([1.0] * 7 + [0.0] * 4)
    marked = Votes(jnp.eye(CLIENTS), present, jnp.ones(CLIENTS))
    filled = fill_buckets(marked, 2, KEY)
    assert filled.present.tolist() == [1, 1, 1, 1, 0, 0]
    assert filled.weights.tolist() == [2, 2, 2, 1, 0, 0]
    assert np.asarray((filled.rows * filled.weights[:, None]).sum(0)).tolist() == present.tolist()


def test_another_key_fills_buckets_differently():
    rows, weights = some_rows(2)
    votes = Votes(jnp.asarray(rows), jnp.ones(CLIENTS), jnp.asarray(weights))
    first, second = (fill_buckets(votes, 2, jax.random.key(k)).rows for k in (1, 2))
    assert np.abs(first - second).max() > 0.1


def test_neighbors_bring_honest_uploads_together():
    """The variance of what is mixed is below that of what was sent, by more than half."""
    rows, weights = some_rows(3)
    mixed = oracles.nearest_neighbors(2, lambda r, w: r)(rows, weights)
    assert mixed.var(0).sum() < rows.var(0).sum() / 2


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 21])
def test_the_network_sorts_any_number_of_rows(count):
    rows = np.random.default_rng(count).integers(-5, 5, (count, 50)).astype(np.float32)
    rows[rows > 3] = np.inf
    np.testing.assert_array_equal(sort_columns(jnp.asarray(rows)), np.sort(rows, axis=0))


def test_trees_become_rows_and_back():
    tree = {"a": jnp.arange(6.0).reshape(2, 3), "b": jnp.arange(4).reshape(2, 2, 1)}
    rows, as_tree = as_rows(tree)
    back = as_tree(rows[1])
    assert back["a"].tolist() == [3, 4, 5]
    assert back["b"].tolist() == [[2.0], [3.0]]


def test_a_step_with_too_few_uploads_is_not_usable():
    rows, weights = some_rows(0, 5)
    rule = aggregator_registry.make("krum:1")
    for accepted, usable in ([1, 1, 1, 1, 1], True), ([1, 1, 1, 1, 0], False):
        uploads = Uploads(
            {"w": jnp.asarray(rows)}, jnp.asarray(weights), 1.0, jnp.asarray(accepted), None, {}
        )
        combined = rule.combine(uploads)
        assert bool(combined.usable) is usable
        assert np.any(combined.update["w"]) == usable


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("krum:-1", "whole number"),
        ("krum:1.5", "whole number"),
        ("multi-krum:1,0", "at least 1"),
        ("trimmed-mean:0.5", "below 0.5"),
        ("geometric-median:0", "iterations"),
        ("geometric-median:3,0", "smoothing"),
        ("centered-clipping:0", "radius"),
        ("bucketing:0,median", "size of a bucket"),
        ("bucketing:2", "say which"),
        ("nnm:1", "say which"),
        ("nnm:1,central-dp:1", "central-dp"),
        ("nnm:1,norm-bound:1", "robust rule"),
        ("nnm:1,meidan", "median"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(name, words):
    with pytest.raises(ConfigError, match=words):
        aggregator_registry.make(name)
