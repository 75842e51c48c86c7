"""What is the inner loop that most algorithms share?

Mini-batch descent from a starting model, with two optional terms: a pull towards an anchor (proximal term
of weight mu) and a correction added to every gradient (control variates):

    params <- params - step(  gradient(batch) + mu * (params - anchor) + correction  )
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

from ..models import Batch, Task
from ..trees import Tree, add, add_scaled, scale, subtract
from .client_data import ClientData
from .optimizers import Optimizer


class Trained(NamedTuple):
    """Where local training ended, and the mean loss it saw on the way."""

    params: Tree
    loss: jax.Array


def local_sgd(
    task: Task,
    start: Tree,
    data: ClientData,
    optimizer: Optimizer,
    *,
    anchor: Tree | None = None,
    mu: float | jax.Array = 0.0,
    correction: Tree | None = None,
) -> Trained:
    """Walk over the planned mini-batches from `start`."""
    transformation = optimizer.build()
    factor = optimizer.factor(data.round)

    def step(carry: tuple[Tree, Tree, jax.Array], batch: Batch) -> tuple[Tree, Tree, jax.Array]:
        params, memory, total = carry
        loss, gradient = task.loss_and_gradient(params, batch)
        if anchor is not None:
            gradient = add_scaled(gradient, mu, subtract(params, anchor))
        if correction is not None:
            gradient = add(gradient, correction)
        updates, memory = transformation.update(gradient, memory, params)
        if optimizer.schedule != "constant":
            updates = scale(factor, updates)
        return optax.apply_updates(params, updates), memory, total + loss

    params, _, total = data.fold(step, (start, transformation.init(start), jnp.zeros(())))
    return Trained(params, total / jnp.maximum(data.steps, 1))
