"""MMD regularization against membership inference (Li, Li and Ribeiro, Membership Inference Attacks and
Defenses in Classification Models, 2021).

client:   descend on   mean of the losses of training rows  +  lam * MMD^2

    MMD^2  =  sum over i, j of (p_i - q_i)(p_j - q_j) k(f_i, f_j),     k(f, g) = exp(-|f - g|^2 / (2 s^2))

is the squared maximum mean discrepancy between a mini-batch's predictions f (probabilities) of training rows,
which p weighs equally, and of reference rows, which q weighs equally: a model that predicts both alike tells
nobody which are which. As published it is that of rows of one class, averaged over the classes of which the
mini-batch has rows of both sets; `by_class=False` takes all rows together. Labels of reference rows choose
the pairs, and are not learnt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from ..errors import ConfigError
from ..models import Batch, Task
from ..typing import Memory, Message, Params
from .base import Reply, algorithm_registry
from .fedavg import FedAvg
from .shared.client_data import ClientData
from .shared.optimizer_steps import OptimizerState, OptimizerSteps
from .shared.private_gradient import add_penalty
from .werm import check_classification, check_reference_rows, set_factors


@algorithm_registry.add("mmd")
@dataclass(frozen=True, kw_only=True)
class MMD(FedAvg):
    """FedAvg whose predictions of training and reference rows are to be alike, by their maximum mean
    discrepancy with weight `lam` (Li et al., 2021)."""

    lam: float = 1.0
    bandwidth: float = 1.0
    by_class: bool = True
    reference_fraction: float = 0.5

    name: ClassVar[str] = "mmd"
    takes_state: ClassVar[bool] = False
    grid: ClassVar = {"lam": (0.3, 1.0, 3.0, 10.0)}

    def __post_init__(self) -> None:
        check_reference_rows(self.reference_fraction, "mmd compares training rows with reference rows")
        if not 0 <= self.lam < float("inf"):
            raise ConfigError(f"lam must not be negative, but is {self.lam:g}.")
        if not 0 < self.bandwidth < float("inf"):
            raise ConfigError(f"bandwidth must be above 0, but is {self.bandwidth:g}.")

    @property
    def equals_local_training(self) -> bool:
        return False

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        check_classification(task, self.name)
        return Memory({})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        descent = OptimizerSteps(self.optimizer, data.round)
        rows = data.weighted(set_factors(data, self.reference_fraction) * data.row_weights()[:, None])

        def step(point: OptimizerState, batch: Batch) -> OptimizerState:
            gradient = jax.grad(self._loss)(point.params, task, batch)
            return descent.step(point, add_penalty(task, point.params, gradient))

        return Reply(rows.fold(step, descent.start(message)).params, memory)

    def _loss(self, params: Params, task: Task, batch: Batch) -> jax.Array:
        outputs = task.apply(params, batch.x)
        training, reference = batch.weight[:, 0], batch.weight[:, 1]
        loss = jnp.sum(training * task.sample_loss(outputs, batch.y)) / jnp.maximum(batch.size, 1.0)
        kernel = gaussian_kernel(jax.nn.softmax(outputs), self.bandwidth)
        together = batch.y[:, None] == batch.y[None, :] if self.by_class else jnp.ones(kernel.shape, bool)
        return loss + self.lam * discrepancy(kernel, training, reference, together)


def gaussian_kernel(points: jax.Array, bandwidth: float) -> jax.Array:
    """exp(-|f - g|^2 / (2 s^2)) of every two rows."""
    squares = jnp.sum(points**2, axis=1)
    apart = jnp.maximum(squares[:, None] + squares[None, :] - 2 * points @ points.T, 0.0)
    return jnp.exp(-0.5 * apart / bandwidth**2)


def discrepancy(
    kernel: jax.Array, training: jax.Array, reference: jax.Array, together: jax.Array
) -> jax.Array:
    """MMD^2 of two sets of rows; the mean over groups that have rows of both, and 0 where none has.

    Args:
        kernel: of every two rows.
        training: weights of rows in the first set, 0 for others.
        reference: weights of rows in the second set.
        together: which two rows are of one group.
    """
    own, other = (together @ weights for weights in (training, reference))  # of each row's group
    both = (own > 0) & (other > 0)
    apart = jnp.where(
        both, training / jnp.where(both, own, 1.0) - reference / jnp.where(both, other, 1.0), 0.0
    )
    members = jnp.sum(together & ((training + reference) > 0)[None, :], axis=1)
    counted = both & (training + reference > 0)
    groups = jnp.sum(jnp.where(counted, 1.0 / jnp.maximum(members, 1), 0.0))
    return apart @ (kernel * together) @ apart / jnp.maximum(groups, 1.0)
