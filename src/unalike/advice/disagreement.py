"""Gradient disagreement between clients, and how well their models transfer to each other.

For every two clients i and j:

- gradients: 1 - cos(g_i, g_j) at a first model, and of all together their diversity (Yin et al., "Gradient
  Diversity: a Key Ingredient for Scalable Distributed Learning", 2018),

      n sum_i ||g_i||^2 / ||sum_i g_i||^2,   1 where all pull the same way;

- losses: how much worse a model that i has fitted does on j's rows than j's own does.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from scipy.stats import spearmanr

from ..core.random import generator
from ..data import Federation
from ..data.similarity.misalignment import pairs
from ..models import Batch, Task
from ..typing import ClientIds, Float64s

MOST_CLIENTS = 50
"""Of which every model is tried on every other's rows."""


@dataclass(frozen=True)
class LocalFit:
    """What a client does with its rows to be compared."""

    rows: int = 64
    """Rows of each client, drawn again where it has fewer."""
    steps: int = 50
    learning_rate: float = 0.5


@dataclass(frozen=True, eq=False)
class Disagreement:
    """Tables of unlikeness between the same clients, larger for less like ones."""

    clients: ClientIds
    gradients: Float64s
    losses: Float64s
    """Excess loss of the row's model on the column's rows."""
    gradient_diversity: float


def measure_disagreement(
    federation: Federation, task: Task, clients: ClientIds, fit: LocalFit | None = None, seed: int = 0
) -> Disagreement:
    """The other measures, between at most fifty of these clients."""
    fit = fit or LocalFit()
    rng = generator(seed, "disagreement")
    some = clients
    if len(clients) > MOST_CLIENTS:
        some = np.sort(rng.choice(clients, MOST_CLIENTS, replace=False))
    batches = _batches(federation, some, fit.rows, rng)
    first = task.init(jax.random.key(seed))
    gradients = np.asarray(_gradients(task, first, batches), np.float64)
    losses = np.asarray(_cross_losses(task, first, batches, fit), np.float64)
    return Disagreement(some, angles(gradients), losses - np.diag(losses), gradient_diversity(gradients))


def gradient_diversity(gradients: Float64s) -> float:
    """How much clients' gradients (rows) cancel in their sum; 1 where they are the same.

    >>> gradient_diversity(np.array([[1.0, 0.0], [0.0, 1.0]])), gradient_diversity(np.ones((3, 2)))
    (2.0, 1.0)
    """
    together = float(np.square(gradients.sum(axis=0)).sum())
    return len(gradients) * float(np.square(gradients).sum()) / together if together > 0 else float("inf")


def angles(gradients: Float64s) -> Float64s:
    """1 - cosine of all pairs."""
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    unit = gradients / np.where(lengths > 0, lengths, 1.0)
    return 1 - unit @ unit.T


def rank_correlation(one: Float64s, other: Float64s) -> float:
    """Spearman's, over pairs of clients; not a number where a table is constant.

    >>> rank_correlation(np.array([[0, 1, 2], [1, 0, 3], [2, 3, 0.0]]), np.eye(3)) != 1
    True
    """
    first, second = pairs(one), pairs(other)
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(spearmanr(first, second).statistic)


def _batches(federation: Federation, clients: ClientIds, rows: int, rng: np.random.Generator) -> Batch:
    """The same number of rows of every client, one client after the other along the first axis."""
    split = federation.train
    chosen = np.stack([_some_rows(split.offsets[i], split.sizes[i], rows, rng) for i in clients])
    ones = jnp.ones(chosen.shape)
    sizes = jnp.full(len(clients), float(rows))
    return Batch(jnp.asarray(split.x[chosen]), jnp.asarray(split.y[chosen]), ones, sizes)


def _some_rows(start: int, size: int, wanted: int, rng: np.random.Generator) -> ClientIds:
    """Different rows as long as there are, then the same again."""
    return start + np.resize(rng.permutation(size), wanted)


def _gradients(task: Task, params: object, batches: Batch) -> jax.Array:
    def one(batch: Batch) -> jax.Array:
        return jax.flatten_util.ravel_pytree(task.loss_and_gradient(params, batch)[1])[0]

    return jax.jit(jax.vmap(one))(batches)


def _cross_losses(task: Task, first: object, batches: Batch, fit: LocalFit) -> jax.Array:
    """The loss of every client's model (row) on every client's rows (column)."""

    def fitted(batch: Batch) -> object:
        def step(_: int, params: object) -> object:
            gradient = task.loss_and_gradient(params, batch)[1]
            return jax.tree.map(lambda p, g: p - fit.learning_rate * g, params, gradient)

        return jax.lax.fori_loop(0, fit.steps, step, first)

    models = jax.jit(jax.vmap(fitted))(batches)
    on_all = jax.vmap(task.loss, in_axes=(None, 0))
    return jax.jit(lambda m: jax.lax.map(lambda one: on_all(one, batches), m))(models)
