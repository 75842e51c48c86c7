"""Compiled kNN queries of a datastore, in JAX.

The same search, vote and choice as in `search.py`, `vote.py` and `choosing.py`, as ordinary JAX for stores of
a fixed number of places, of which some are taken (`kept`). The search is exact, too: a matrix product names
candidates, and where its rounding could have missed one, all distances are computed from differences.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from ..models import Task
from .interpolation_weight import GRID, middle_of_best
from .kernels import kernel_registry
from .neighbors import UNIT
from .voting_rule import Rule

SPARE = 8
"""Candidates beyond k whose distances are computed exactly."""
BLOCK = 256
"""Rows looked up at a time among themselves."""


class FixedStore(NamedTuple):
    """A store of a fixed size."""

    keys: jax.Array
    labels: jax.Array
    common: jax.Array
    """What the global model predicts for each row."""
    kept: jax.Array
    """Which places hold a row."""


def nearest(
    keys: jax.Array, kept: jax.Array, queries: jax.Array, k: int, own: jax.Array | None = None
) -> tuple[jax.Array, jax.Array]:
    """Distances and places of the k nearest kept rows, infinite where there are fewer; ties go by place.

    `own` is the place of each query itself, which is not its own neighbor.
    """
    width, k = min(k + SPARE, len(keys)), min(k, len(keys))
    center = kept @ keys / jnp.maximum(kept.sum(), 1)
    near, far = keys - center, queries - center
    lengths = jnp.sum(near * near, axis=1)
    squares = lengths - 2 * far @ near.T
    allowed = jnp.broadcast_to(kept, squares.shape)
    if own is not None:
        allowed = allowed & (own[:, None] != jnp.arange(len(keys)))
    far_off = jnp.where(allowed, squares, jnp.inf)
    _, candidates = lax.top_k(-far_off, width)
    # By differences: the product loses digits where rows are near.
    gaps = jnp.sqrt(jnp.sum((keys[candidates] - queries[:, None]) ** 2, axis=2))
    gaps = jnp.where(jnp.take_along_axis(allowed, candidates, axis=1), gaps, jnp.inf)
    gaps, rows = lax.sort((gaps, candidates), num_keys=2)
    gaps, rows = gaps[:, :k], rows[:, :k]
    if width == len(keys):
        return gaps, rows
    longest = jnp.sqrt(jnp.max(jnp.where(kept, lengths, 0.0))) + jnp.linalg.norm(far, axis=1)
    slack = (keys.shape[1] + 8) * UNIT * longest**2
    # The last candidate is no farther than the k-th could be: then there may be more that were not looked at.
    # (Taken by place, because XLA sorts everything where only a part of the values of `top_k` is used.)
    found = jnp.take_along_axis(far_off, candidates, axis=1)
    doubtful = jnp.isfinite(found[:, -1]) & (found[:, -1] <= found[:, k - 1] + 2 * slack)
    return _search_again(keys, allowed, queries, doubtful, gaps, rows)


def _search_again(
    keys: jax.Array,
    allowed: jax.Array,
    queries: jax.Array,
    doubtful: jax.Array,
    gaps: jax.Array,
    rows: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """What was found, but from all differences for queries where rounding may have hidden a candidate."""
    first = jnp.argsort(~doubtful)  # the doubtful ones, in a loop of just as many turns as there are

    def again(turn: jax.Array, found: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        i = first[turn]
        exact = jnp.sqrt(jnp.sum((keys - queries[i]) ** 2, axis=1))
        near, places = lax.top_k(jnp.where(allowed[i], -exact, -jnp.inf), gaps.shape[1])  # ties go by place
        return found[0].at[i].set(-near), found[1].at[i].set(places)

    return lax.fori_loop(0, doubtful.sum(), again, (gaps, rows))


def ask(
    task: Task,
    rule: Rule,
    store: FixedStore,
    queries: jax.Array,
    common: jax.Array,
    own: jax.Array | None = None,
) -> jax.Array:
    """What the neighbors of some queries say, in the form of the global model's predictions (`common`)."""
    distances, rows = nearest(store.keys, store.kept, queries, rule.k, own)
    counted, labels = _weights(rule, distances, queries.shape[1]), store.labels[rows]
    if task.kind() == "logits":
        return jnp.einsum("qk,qkc->qc", counted, jax.nn.one_hot(labels, common.shape[-1]))
    return jnp.einsum("qk,qk...->q...", counted, labels).reshape(common.shape)


def _weights(rule: Rule, distances: jax.Array, dimension: int) -> jax.Array:
    found = jnp.isfinite(distances)
    exponents = kernel_registry.make(rule.kernel)(jnp.where(found, distances, 0.0), dimension) / rule.sigma
    first = jnp.min(jnp.where(found, exponents, jnp.inf), axis=1, keepdims=True)
    raw = jnp.where(found, jnp.exp(jnp.where(found, first - exponents, 0.0)), 0.0)
    return raw / jnp.maximum(raw.sum(axis=1, keepdims=True), 1.0)


def ask_own(task: Task, rule: Rule, store: FixedStore) -> jax.Array:
    """What the other rows say of each row, a block at a time."""
    rows = len(store.keys)
    width = min(BLOCK, rows)
    blocks = -(-rows // width)
    own = jnp.minimum(jnp.arange(blocks * width), rows - 1).reshape(blocks, width)
    said = lax.map(lambda i: ask(task, rule, store, store.keys[i], store.common[i], own=i), own)
    return said.reshape(-1, *said.shape[2:])[:rows]


def best_share(
    task: Task, near: jax.Array, store: FixedStore, asked: jax.Array, grid: Sequence[float] = GRID
) -> jax.Array:
    """The share of the neighbors that does best on the rows that are asked about."""
    scores = [_score(task, mix(share, near, store.common), store.labels, asked) for share in grid]
    return jnp.asarray(grid, jnp.float32)[middle_of_best(jnp.stack(scores), grid, xp=jnp)]


def _score(task: Task, mixed: jax.Array, labels: jax.Array, asked: jax.Array) -> jax.Array:
    """Rows that are right, or minus the summed squared error."""
    if task.kind() == "logits":
        return jnp.sum(asked & (jnp.argmax(mixed, axis=-1) == labels))
    if task.kind() == "logit":
        return jnp.sum(asked & ((mixed.reshape(labels.shape) > 0.5) == (labels > 0)))
    gaps = (mixed.reshape(labels.shape) - labels) ** 2
    return -jnp.sum(asked * gaps.reshape(len(labels), -1).sum(axis=1))


def mix(share: jax.Array | float, near: jax.Array, common: jax.Array) -> jax.Array:
    """share * neighbors + (1 - share) * global model."""
    return share * near + (1 - share) * common


def draw_rows(rows: jax.Array, number: jax.Array, key: jax.Array) -> jax.Array:
    """Some of the marked rows at random, as a mask."""
    draw = jnp.where(rows, jax.random.uniform(key, rows.shape), jnp.inf)
    return rows & (jnp.argsort(jnp.argsort(draw)) < number)
