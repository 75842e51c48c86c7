"""Pytree arithmetic: add, scale and compare whole models."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import keystr, tree_flatten_with_path

from ..typing import Array, Leaf, PyTree, Scalar


def add(a: PyTree, b: PyTree) -> PyTree:
    """a + b, leaf by leaf."""
    return jax.tree.map(jnp.add, a, b)


def subtract(a: PyTree, b: PyTree) -> PyTree:
    """a - b, leaf by leaf."""
    return jax.tree.map(jnp.subtract, a, b)


def scale(factor: Scalar, a: PyTree) -> PyTree:
    """factor * a, leaf by leaf."""
    return jax.tree.map(lambda leaf: factor * leaf, a)


def add_scaled(a: PyTree, factor: Scalar, b: PyTree) -> PyTree:
    """a + factor * b, leaf by leaf."""
    return jax.tree.map(lambda x, y: x + factor * y, a, b)


def zeros_like(a: PyTree) -> PyTree:
    """The zero of the same shape."""
    return jax.tree.map(jnp.zeros_like, a)


def where(condition: bool | jax.Array, a: PyTree, b: PyTree) -> PyTree:
    """a if condition else b, leaf by leaf."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), a, b)


def squared_norm(a: PyTree) -> jax.Array:
    """The sum of squares of all entries."""
    return sum((jnp.vdot(leaf, leaf).real for leaf in jax.tree.leaves(a)), start=jnp.zeros(()))


def by_path(a: PyTree) -> dict[str, PyTree]:
    """Every leaf under a name that spells the way to it.

    >>> by_path({"dense": [{"w": 1.0, "b": 2.0}]})
    {'dense/0/b': 2.0, 'dense/0/w': 1.0}
    """
    return {path_name(path): leaf for path, leaf in tree_flatten_with_path(a)[0]}


def path_name(path: tuple[object, ...]) -> str:
    """The way to a leaf, as a name."""
    return keystr(path, simple=True, separator="/")


def all_finite(a: PyTree) -> jax.Array:
    """Whether no entry is NaN or infinite."""
    checks = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(a)]
    return jnp.all(jnp.stack(checks)) if checks else jnp.asarray(True)


def row(a: PyTree, index: Leaf) -> PyTree:
    """Entry `index` of every leaf's leading axis."""
    return jax.tree.map(lambda leaf: leaf[index], a)


def stack(trees: list[PyTree]) -> PyTree:
    """Several trees of one shape as one tree with a leading axis."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def size(a: PyTree) -> int:
    """The number of entries."""
    return sum(int(np.prod(np.shape(leaf))) for leaf in jax.tree.leaves(a))


def nbytes(a: PyTree) -> int:
    """The bytes that sending it takes."""
    return sum(int(np.prod(np.shape(leaf))) * np.dtype(leaf.dtype).itemsize for leaf in jax.tree.leaves(a))


def largest_difference(a: PyTree, b: PyTree) -> float:
    """The largest absolute difference between two trees of one shape."""
    gaps = jax.tree.map(lambda x, y: float(np.max(np.abs(_numbers(x) - _numbers(y)), initial=0.0)), a, b)
    return max(jax.tree.leaves(gaps), default=0.0)


def _numbers(leaf: Leaf) -> Array:
    array = np.asarray(leaf)
    return array.astype(np.int8) if array.dtype == bool else array


def shapes(a: PyTree) -> PyTree:
    """The shape and dtype of every leaf."""
    return jax.tree.map(lambda leaf: (leaf.shape, str(leaf.dtype)), a)
