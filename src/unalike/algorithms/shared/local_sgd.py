"""Local SGD: the inner loop that most algorithms share.

Mini-batch descent from a starting model, with two optional terms: a pull towards an anchor (proximal term
of weight mu) and a correction added to every gradient (control variates); and with an optional factor of the
rows' losses (how much this client counts in the round), which leaves a penalty on parameters as it is:

    params <- params - step(  factor * gradient(batch) + mu * (params - anchor) + correction  )

The state of a model that has one changes by the forward pass alone.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from ...core.pytrees import add, add_scaled, subtract
from ...models import Batch, Stateful, Task
from ...models.module_state import with_state, without_state
from ...typing import Params
from .client_data import ClientData
from .optimizer_steps import OptimizerState, OptimizerSteps
from .optimizers import Optimizer


class LocalResult(NamedTuple):
    """Where local training ended, and the mean loss it saw on the way (times the factor, if any)."""

    params: Params
    loss: jax.Array


def local_sgd(
    task: Task,
    start: Params,
    data: ClientData,
    optimizer: Optimizer,
    *,
    anchor: Params | None = None,
    mu: float | jax.Array = 0.0,
    correction: Params | None = None,
    factor: jax.Array | None = None,
) -> LocalResult:
    """Walk over the planned mini-batches from `start`."""
    descent = OptimizerSteps(optimizer, data.round)

    def step(carry: tuple[OptimizerState, jax.Array], batch: Batch) -> tuple[OptimizerState, jax.Array]:
        point, total = carry
        if factor is not None:  # of the rows, which are fewer than the parameters
            batch = batch._replace(weight=factor * batch.weight)
        if isinstance(start, Stateful):
            loss, slope, state = task.learn(point.params, batch)
            gradient = Stateful(slope, start.state)
        else:
            (loss, gradient), state = task.loss_and_gradient(point.params, batch), None
        if anchor is not None:
            gradient = add_scaled(gradient, mu, subtract(point.params, anchor))
        if correction is not None:
            gradient = add(gradient, correction)
        moved = descent.step(point, without_state(gradient))
        return moved._replace(params=with_state(moved.params, state)), total + loss

    end, total = data.fold(step, (descent.start(start), jnp.zeros(())))
    return LocalResult(end.params, total / jnp.maximum(data.steps, 1))
