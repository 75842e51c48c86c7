"""Last reported losses: a number per client at the server.

A client sends its loss in its own place of a vector of zeros, and a one there; sums of such uploads, with
whatever weights, tell the server every loss that was sent:

    F_k  <-  sum_i weight_i loss_i[k] / sum_i weight_i seen_i[k]        where somebody has sent one

Real clients would send one number, and only that is counted as traffic.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from ...core.pytrees import nbytes
from ...data.federation import Federation
from ...models import Batch, Task
from ...typing import Params, PyTree
from .client_data import ClientData

NUMBER = 4
"""Bytes of one number."""
BLOCK = 128
"""Rows whose losses are computed together, or a mini-batch where that is wider."""


def mean_loss(task: Task, params: Params, data: ClientData) -> jax.Array:
    """F_k: the mean loss of a model over all rows of a client, many rows at a time."""

    def add(total: jax.Array, batch: Batch) -> jax.Array:
        return total + batch.weight @ task.losses(params, batch.x, batch.y)

    return data.fold_rows(add, jnp.zeros(()), max(BLOCK, data.positions.shape[-1])) / jnp.maximum(
        data.size, 1
    )


def report_loss(loss: jax.Array, client: jax.Array | int, clients: int, factor: jax.Array) -> PyTree:
    """The part of an upload that tells a client's loss; `factor` divides out a weight of the reply, and 0
    says nothing."""
    own = jnp.where(jnp.arange(clients) == client, factor, 0.0)
    return {"losses": own * loss, "seen": own}


def update_losses(losses: jax.Array, total: PyTree) -> jax.Array:
    """All clients' last losses, after a step with these sums of uploads."""
    seen = total["seen"] > 0
    return jnp.where(seen, total["losses"] / jnp.where(seen, total["seen"], 1.0), losses)


def uninformed_loss(task: Task, federation: Federation) -> float:
    """The loss of the best constant guess, which stands for clients that have not reported: log(classes), or
    half the variance of the targets."""
    if federation.classes:
        return math.log(federation.classes)
    return float(np.var(federation.train.y)) / 2 if federation.train.y.size else 0.0


def traffic_with_numbers(model: Params, down: int, up: int) -> tuple[int, int]:
    """Bytes of a model and so many numbers beside it, down and up."""
    return nbytes(model) + NUMBER * down, nbytes(model) + NUMBER * up
