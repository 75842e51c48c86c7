"""WERM: weighted empirical risk of training rows and reference rows (Kaplan, Xu, Marfoq, Neglia and Santana
de Oliveira, A Cautionary Tale: On the Role of Reference Data in Empirical Privacy Defenses, 2024).

client:   descend on   w * mean of the losses of training rows  +  (1 - w) * mean of those of reference rows

The weight w says which rows may leak: 1 learns from training rows alone, 0 from reference rows alone, and
their share among all rows treats every row alike, which is FedAvg. Every row's loss is multiplied by
w n / n_T, or by (1 - w) n / n_R, so that mini-batches of all rows have that sum as their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ..data.reference_rows import reference_sizes
from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message
from .base import Reply, algorithm_registry
from .fedavg import FedAvg
from .shared.client_data import ClientData
from .shared.local_sgd import local_sgd


@algorithm_registry.add("werm")
@dataclass(frozen=True, kw_only=True)
class WERM(FedAvg):
    """FedAvg on a weighted sum of the losses of training and reference rows (Kaplan et al., 2024)."""

    weight: float = 0.5
    reference_fraction: float = 0.5

    name: ClassVar[str] = "werm"
    grid: ClassVar = {"weight": (0.1, 0.3, 0.5, 0.7, 0.9)}

    def __post_init__(self) -> None:
        check_weight(self.weight, self.reference_fraction)

    @property
    def equals_local_training(self) -> bool:
        return False

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        factors = row_factors(data, self.weight, self.reference_fraction) * data.row_weights()
        trained = local_sgd(task, message, data.weighted(factors), self.optimizer)
        return Reply(trained.params, memory, {"train_loss": trained.loss})


def reference_rows(data: ClientData, fraction: float) -> jax.Array:
    """How many of a client's rows are reference rows; the same number as on the host."""
    table = reference_sizes(np.arange(data.capacity + 1), fraction)
    return jnp.asarray(table, jnp.int32)[data.size]


def set_factors(data: ClientData, fraction: float) -> jax.Array:
    """For every row, what makes a mean over all rows that of the training rows (first column) and that of the
    reference rows (second column): n / n_T or n / n_R in its own column, 0 in the other."""
    reference = reference_rows(data, fraction)
    training = data.size - reference
    last = jnp.arange(data.capacity) >= training
    return jnp.stack(
        [
            jnp.where(last, 0.0, data.size / jnp.maximum(training, 1)),
            jnp.where(last, data.size / jnp.maximum(reference, 1), 0.0),
        ],
        axis=1,
    )


def row_factors(data: ClientData, weight: float, fraction: float) -> jax.Array:
    """What multiplies the loss of every row, so that the mean over all is the weighted sum of two means; 1
    where a client has no reference rows."""
    both = set_factors(data, fraction) @ jnp.array([weight, 1 - weight])
    return jnp.where(reference_rows(data, fraction) > 0, both, 1.0)


def check_weight(weight: float, fraction: float) -> None:
    """Raise for a weight or a fraction that is none."""
    if not 0 <= weight <= 1:
        raise ConfigError(f"weight must lie between 0 and 1, but is {weight:g}.")
    reference_sizes(np.zeros(1, np.int64), fraction)


def check_reference_rows(fraction: float, why: str) -> None:
    """Raise where a method that cannot do without reference rows would have none."""
    check_weight(1.0, fraction)
    if not fraction > 0:
        raise ConfigError(f"{why}; reference_fraction must be above 0.")


def check_classification(task: Task, name: str) -> None:
    """Raise where predictions are no probabilities of classes."""
    if task.kind() != "logits":
        raise ConfigError(f"{name} is for classifications, whose predictions are probabilities.")
