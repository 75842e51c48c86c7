"""ProtoNN compression: a few learned prototypes stand for all remembered rows.

ProtoNN (Gupta, Suggala, Goyal, Simhadri, Paranjape, Kumar, Goyal, Udupa, Varma, Jain, "ProtoNN: Compressed
and Accurate kNN for Resource-scarce Devices", 2017): a projection W, prototypes B_j and their label vectors
Z_j, learned together by descent on one of the three at a time,

    score(key) = sum_j Z_j exp(-gamma^2 |B_j - W key|^2),      minimize  sum_i |onehot(y_i) - score(key_i)|^2.

Scores are cut off at zero and divided by their sum, and then take the place of the neighbors' vote. The
projection has p' p numbers of its own, more than a small client's whole store; so memory is reported with and
without it, and a shared projection can be given instead of a learned one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from ..data.sizes import largest_remainder
from ..errors import ConfigError
from ..typing import Array, Float32s, Memory, Params, PyTree
from .compression import Projection, projection_registry

SHARPNESS = 2.5
"""gamma times the median distance between a key and a prototype, at the start."""


@dataclass(frozen=True, eq=False)
class ProtoNN:
    """Prototypes with label vectors, in the space of a projection."""

    projection: Projection
    prototypes: Float32s
    votes: Float32s
    gamma: float
    shared: bool
    """Whether the projection is everybody's, and not part of this client's memory."""

    def __call__(self, keys: Float32s) -> Float32s:
        """The probabilities of the classes, equal ones where no prototype says anything."""
        return np.asarray(_predict(self.prototypes, self.votes, self.gamma, self.projection(keys)))

    def memory(self, rows: int) -> dict[str, float]:
        """Bytes of prototypes and of the projection, and how much smaller than a store of `rows` they are."""
        own = self.prototypes.nbytes + self.votes.nbytes
        store = 4 * rows * self.projection.matrix.shape[1]
        both = own + self.projection.nbytes
        return {
            "bytes": own,
            "projection_bytes": self.projection.nbytes,
            "factor": store / own,
            "factor_with_projection": store / both,
        }


def fit_protonn(
    keys: Float32s,
    labels: Array,
    classes: int,
    prototypes: int,
    projection: str | Projection = "pca:32",
    *,
    turns: int = 10,
    steps: int = 20,
    learning_rate: float = 0.01,
    seed: int = 0,
) -> ProtoNN:
    """Learn prototypes for one client's rows; a given `Projection` is shared and stays as it is."""
    if not 1 <= prototypes <= len(keys):
        raise ConfigError(f"{prototypes} prototypes cannot stand for {len(keys)} rows.")
    shared = isinstance(projection, Projection)
    shrink = projection if isinstance(projection, Projection) else projection_registry.make(projection)(keys)
    short = shrink(keys)
    centers, said = _start(short, labels, classes, prototypes, seed)
    distances = np.linalg.norm(short[:, None] - centers, axis=2)
    gamma = SHARPNESS / max(float(np.median(distances)), 1e-6)
    start = {"votes": said, "prototypes": centers, "matrix": shrink.matrix}
    rows, targets, real = _pad(keys - shrink.center, np.eye(classes, dtype=np.float32)[labels])
    order = ("votes", "prototypes") if shared else ("votes", "prototypes", "matrix")
    found = _descend(start, rows, targets, real, gamma, order, turns, steps, learning_rate)
    learned = {name: np.asarray(value) for name, value in found.items()}
    return ProtoNN(
        Projection(learned["matrix"], shrink.center), learned["prototypes"], learned["votes"], gamma, shared
    )


def _start(
    keys: Float32s, labels: Array, classes: int, prototypes: int, seed: int
) -> tuple[Float32s, Float32s]:
    """The means of each class's clusters, with as many clusters as the class has rows in proportion."""
    from sklearn.cluster import KMeans  # slow to import, and needed only here

    counts = np.bincount(labels, minlength=classes)
    present = np.flatnonzero(counts)
    first = present[np.argsort(-counts[present], kind="stable")][:prototypes]
    # Everyone gets one as far as they go round, and the rest by the number of rows.
    beyond = counts[first] - 1
    spare = largest_remainder(beyond / max(int(beyond.sum()), 1), prototypes - len(first))
    wanted = np.minimum(1 + spare, counts[first])
    centers = [
        KMeans(int(n), n_init=1, random_state=seed).fit(keys[labels == c]).cluster_centers_
        for c, n in zip(first, wanted, strict=True)
    ]
    said = np.eye(classes, dtype=np.float32)[np.repeat(first, wanted)]
    return np.concatenate(centers).astype(np.float32), said


def _scores(params: Params, rows: jax.Array, gamma: float) -> jax.Array:
    short = rows @ params["matrix"].T
    return _similarity(params["prototypes"], short, gamma) @ params["votes"]


def _similarity(prototypes: jax.Array, short: jax.Array, gamma: float) -> jax.Array:
    squares = jnp.sum((short[:, None] - prototypes) ** 2, axis=2)
    return jnp.exp(-(gamma**2) * squares)


@jax.jit
def _predict(prototypes: jax.Array, votes: jax.Array, gamma: float, short: jax.Array) -> jax.Array:
    scores = jnp.maximum(_similarity(prototypes, short, gamma) @ votes, 0.0)
    total = scores.sum(axis=1, keepdims=True)
    return jnp.where(total > 0, scores / jnp.where(total > 0, total, 1.0), 1.0 / votes.shape[1])


@partial(jax.jit, static_argnames=("order", "turns", "steps", "learning_rate"))
def _descend(
    params: Params,
    rows: jax.Array,
    targets: jax.Array,
    real: jax.Array,
    gamma: float,
    order: tuple[str, ...],
    turns: int,
    steps: int,
    learning_rate: float,
) -> PyTree:
    """Some steps on one kind of parameters, then on the next, and round again."""
    optimizer = optax.adam(learning_rate)

    def loss(params: Params) -> jax.Array:
        gaps = jnp.sum((targets - _scores(params, rows, gamma)) ** 2, axis=1)
        return jnp.sum(real * gaps) / jnp.sum(real)

    def walk(name: str, params: Params, memory: Memory) -> tuple[PyTree, PyTree]:
        def step(carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
            value, state = carry
            gradient = jax.grad(lambda v: loss({**params, name: v}))(value)
            updates, state = optimizer.update(gradient, state, value)
            return (optax.apply_updates(value, updates), state), None

        (value, state), _ = lax.scan(step, (params[name], memory[name]), None, steps)
        return {**params, name: value}, {**memory, name: state}

    def turn(carry: tuple[PyTree, PyTree], _: None) -> tuple[tuple[PyTree, PyTree], None]:
        for name in order:
            carry = walk(name, *carry)
        return carry, None

    start = (params, {name: optimizer.init(params[name]) for name in order})
    return lax.scan(turn, start, None, turns)[0][0]


def _pad(keys: Float32s, targets: Float32s) -> tuple[Float32s, Float32s, Float32s]:
    """Rows rounded up to a power of two, so that clients of similar sizes share a compiled program."""
    extra = (1 << max(len(keys) - 1, 0).bit_length()) - len(keys)
    real = np.r_[np.ones(len(keys)), np.zeros(extra)].astype(np.float32)
    rows, wanted = (np.concatenate([a, np.zeros((extra, a.shape[1]), np.float32)]) for a in (keys, targets))
    return rows.astype(np.float32), wanted, real
