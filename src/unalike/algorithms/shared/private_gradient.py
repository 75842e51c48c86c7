"""Per-row gradients, clipped and noised.

    ( sum_{i in batch} g_i min(1, C / |g_i|)  +  Gaussian noise of deviation z C ) / b

g_i is the gradient of row i's loss. Every row is in the batch with probability q = b / n, whoever else is, so
b is the expected number of rows and the sum moves by at most C when a row is added or taken away. Abadi, Chu,
Goodfellow, McMahan, Mironov, Talwar and Zhang, "Deep Learning with Differential Privacy", 2016.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from ...core.pytrees import add, add_scaled, scale, squared_norm, where, zeros_like
from ...models import Batch, Task
from ...typing import Params, PyTree
from .client_data import ClientData

OVERFLOW = 1e-12
"""The probability that a batch has no room for all of its rows; those beyond are left out."""


class RowSet(NamedTuple):
    """Some of a client's rows, which follow each other."""

    first: jax.Array | int
    size: jax.Array


def batch_room(expected: int, capacity: int) -> int:
    """Places that a batch with so many expected rows needs; more rows are drawn with probability 1e-12.

    >>> batch_room(0, 50), batch_room(16, 1000), batch_room(16, 20)
    (50, 52, 20)
    """
    if expected == 0:
        return capacity
    rows = np.arange(expected, 2 * expected + 60)  # more are rarer still
    enough = scipy.special.pdtrc(rows, expected) <= OVERFLOW  # the tail of a Poisson distribution
    return min(capacity, int(rows[enough.argmax()]) + 1)


def expected_rows(rows: RowSet, batch_size: int) -> jax.Array:
    """Rows that a batch has on average: the batch size, but never more than there are; 0 means all."""
    return jnp.minimum(batch_size, rows.size) if batch_size else jnp.asarray(rows.size)


def draw_rows(rows: RowSet, batch_size: int, capacity: int, key: jax.Array) -> jax.Array:
    """Places of a client's rows, each drawn by itself (Poisson sampling); -1 where nothing stands."""
    rate = expected_rows(rows, batch_size) / jnp.maximum(rows.size, 1)
    place = jnp.arange(capacity)
    there = (place >= rows.first) & (place < rows.first + rows.size)
    drawn = there & (jax.random.uniform(key, (capacity,)) < rate)
    return jnp.nonzero(drawn, size=batch_room(batch_size, capacity), fill_value=-1)[0].astype(jnp.int32)


def private_gradient(
    task: Task,
    params: Params,
    data: ClientData,
    rows: RowSet,
    batch_size: int,
    clip: float,
    noise: float,
    key: jax.Array,
) -> PyTree:
    """The noisy mean gradient of the losses of a batch drawn from these rows, without any penalty on
    parameters."""
    draw, hide, model = jax.random.split(key, 3)
    batch = data.rows_at(draw_rows(rows, batch_size, data.capacity, draw))._replace(key=model)
    total = add_noise(sum_clipped_gradients(task, params, batch, clip), noise * clip, hide)
    return scale(1 / jnp.maximum(expected_rows(rows, batch_size), 1), total)


def sum_clipped_gradients(task: Task, params: Params, batch: Batch, clip: float) -> PyTree:
    """The sum over a batch of every row's gradient, clipped to a norm; a row whose gradient is not finite
    counts as nothing."""
    bare = replace(task, l2=0.0)  # a penalty on parameters says nothing of rows

    def one(x: jax.Array, y: jax.Array, weight: jax.Array, key: jax.Array) -> PyTree:
        row = Batch(x[None], y[None], weight[None], jnp.ones(()), key)
        gradient = jax.grad(bare.loss)(params, row)
        length = jnp.sqrt(squared_norm(gradient))
        clipped = scale(jnp.minimum(1.0, clip / jnp.maximum(length, 1e-30)), gradient)
        return where(jnp.isfinite(length), clipped, zeros_like(gradient))

    key = jax.random.key(0) if batch.key is None else batch.key
    keys = jax.random.split(key, batch.weight.shape[0])
    each = jax.vmap(one)(batch.x, batch.y, batch.weight, keys)
    return jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), each)


def add_penalty(task: Task, params: Params, gradient: PyTree) -> PyTree:
    """The gradient, with that of the task's penalty on parameters, which no row is part of."""
    return add_scaled(gradient, task.l2, params) if task.l2 else gradient


def add_noise(tree: PyTree, deviation: float | jax.Array, key: jax.Array) -> PyTree:
    """Independent Gaussian noise of that deviation in every entry.

    >>> add_noise({"w": jnp.zeros(3)}, 0.0, jax.random.key(0))["w"].tolist()
    [0.0, 0.0, 0.0]
    """
    leaves, structure = jax.tree.flatten(tree)
    keys = jax.random.split(key, max(len(leaves), 1))
    noise = [
        (deviation * jax.random.normal(k, leaf.shape)).astype(leaf.dtype)
        for leaf, k in zip(leaves, keys, strict=False)
    ]
    return add(tree, jax.tree.unflatten(structure, noise))
