"""FedProx: local models are pulled towards the global one (Li et al., Federated Optimization in
Heterogeneous Networks, 2020).

client:   w_i <- descend from w on   f_i(v) + mu/2 |v - w|^2

A step of SGD keeps the part 1 - rate * mu of a model, so mu must stay below 1 / rate: beyond that the pull
throws the model past the one it is pulled to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax

from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message
from .base import Reply, algorithm_registry
from .fedavg import FedAvg
from .shared.client_data import ClientData
from .shared.local_sgd import local_sgd


@algorithm_registry.add("fedprox")
@dataclass(frozen=True, kw_only=True)
class FedProx(FedAvg):
    """FedAvg with a proximal term of weight `mu` at the clients (Li et al., 2020)."""

    mu: float = 0.1

    name: ClassVar[str] = "fedprox"
    grid: ClassVar = {"mu": (1.0, 0.1, 0.01, 0.001)}

    def __post_init__(self) -> None:
        if self.mu < 0:
            raise ConfigError(f"mu must not be negative, but is {self.mu}.")
        rate, plain = self.optimizer.learning_rate, self.optimizer.name == "sgd" and not self.optimizer.custom
        if plain and self.mu * rate >= 1:
            raise ConfigError(
                f"mu times the learning rate must be below 1, but is {self.mu:g} * {rate:g} = "
                f"{self.mu * rate:g}; choose a smaller mu or learning rate."
            )

    @property
    def equals_local_training(self) -> bool:
        return False

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        trained = local_sgd(task, message, data, self.optimizer, anchor=message, mu=self.mu)
        return Reply(trained.params, memory, {"train_loss": trained.loss})
