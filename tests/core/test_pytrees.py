"""Does arithmetic on whole models agree with NumPy on their flattened entries?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike.core import pytrees


def tree(seed):
    rng = np.random.default_rng(seed)
    draw = lambda *shape: rng.normal(size=shape).astype(np.float32)  # noqa: E731
    return {"a": draw(2, 3), "b": [draw(4), (draw(), draw(1, 1))], "empty": {}}


def flat(a):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(a)])


@pytest.fixture(scope="module")
def pair():
    return tree(0), tree(1)


def test_sums_differences_and_multiples_are_those_of_the_entries(pair):
    a, b = pair
    assert np.array_equal(flat(pytrees.add(a, b)), flat(a) + flat(b))
    assert np.array_equal(flat(pytrees.subtract(a, b)), flat(a) - flat(b))
    assert np.allclose(flat(pytrees.scale(0.3, a)), 0.3 * flat(a), rtol=1e-6)
    assert np.allclose(flat(pytrees.add_scaled(a, -2.0, b)), flat(a) - 2.0 * flat(b), atol=1e-6)
    assert not flat(pytrees.zeros_like(a)).any()


def test_structure_is_kept(pair):
    a, b = pair
    for answer in (pytrees.add(a, b), pytrees.scale(2, a), pytrees.zeros_like(a), pytrees.where(True, a, b)):
        assert jax.tree.structure(answer) == jax.tree.structure(a)


def test_where_takes_one_tree_or_the_other(pair):
    a, b = pair
    assert np.array_equal(flat(pytrees.where(jnp.asarray(True), a, b)), flat(a))
    assert np.array_equal(flat(pytrees.where(jnp.asarray(False), a, b)), flat(b))


def test_norm_size_and_bytes_count_every_entry(pair):
    a, _ = pair
    assert float(pytrees.squared_norm(a)) == pytest.approx(float(flat(a) @ flat(a)), rel=1e-6)
    assert pytrees.size(a) == flat(a).size == 12
    assert pytrees.nbytes(a) == 48
    assert pytrees.nbytes({"half": np.zeros(3, np.float16), "whole": np.zeros(3, np.int64)}) == 30


def test_nothing_has_norm_size_and_difference_zero():
    assert float(pytrees.squared_norm({})) == pytrees.size({}) == pytrees.nbytes({}) == 0
    assert pytrees.largest_difference({}, {}) == 0.0
    assert bool(pytrees.all_finite({}))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_entry_anywhere_makes_a_tree_not_finite(pair, bad):
    a, _ = pair
    assert bool(pytrees.all_finite(a))
    for index in range(len(jax.tree.leaves(a))):
        leaves, structure = jax.tree.flatten(a)
        leaves[index] = np.where(np.arange(leaves[index].size).reshape(leaves[index].shape) == 0, bad, 1.0)
        assert not bool(pytrees.all_finite(jax.tree.unflatten(structure, leaves)))


def test_rows_of_a_stack_are_what_was_stacked(pair):
    a, b = pair
    stacked = pytrees.stack([a, b, a])
    assert np.array_equal(flat(pytrees.row(stacked, 1)), flat(b))
    assert np.array_equal(flat(pytrees.row(stacked, jnp.asarray(2))), flat(a))


def test_the_largest_difference_is_the_maximum_norm(pair):
    a, b = pair
    assert pytrees.largest_difference(a, b) == pytest.approx(np.abs(flat(a) - flat(b)).max())
    assert pytrees.largest_difference(a, a) == 0.0
