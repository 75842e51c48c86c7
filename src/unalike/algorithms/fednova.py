"""FedNova: changes are divided by the number of local steps before they are averaged (Wang, Liu, Liang,
Joshi, Poor, Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization, 2020).

    client:   w_i <- K_i steps of plain SGD from w;               sends  d_i = (w_i - w) / K_i  and  K_i
    server:   w   <- w + (sum_i weight_i K_i) (sum_i weight_i d_i)

A client with many rows takes many steps an epoch and so would count twice; with equal K_i it is FedAvg.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from ..core.pytrees import add_scaled, scale, subtract
from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message, State, Upload
from .base import Aggregate, Reply, algorithm_registry
from .fedavg import FedAvg
from .shared.client_data import ClientData
from .shared.local_sgd import local_sgd


@algorithm_registry.add("fednova")
@dataclass(frozen=True, kw_only=True)
class FedNova(FedAvg):
    """FedAvg of changes per local step, so that clients with more steps count no more (Wang et al., 2020)."""

    name: ClassVar[str] = "fednova"
    takes_state: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.optimizer.name != "sgd" or self.optimizer.options or self.optimizer.custom is not None:
            raise ConfigError(
                "FedNova counts steps of equal weight, so its client optimizer must be plain sgd."
            )

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        trained = local_sgd(task, message, data, self.optimizer)
        steps = jnp.asarray(data.steps, jnp.float32)
        change = scale(1.0 / jnp.maximum(steps, 1.0), subtract(trained.params, message))
        return Reply(Upload({"change": change, "steps": steps}), memory, {"train_loss": trained.loss})

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        # Divided by their sum, weights that do not sum to one give the mean number of steps, too.
        steps = mixed.total["steps"] / jnp.where(mixed.weight > 0, mixed.weight, 1.0)
        total = add_scaled(state["params"], steps, mixed.total["change"])
        return self.server_step(state, total, state["params"], mixed.round)
