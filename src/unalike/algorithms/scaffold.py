"""SCAFFOLD: control variates remove client drift (Karimireddy et al., SCAFFOLD: Stochastic Controlled
Averaging, 2020).

    client:   w_i   <- descend from w with every gradient corrected by  c - c_i
              c_i'  =  c_i - c + (w - w_i) / (steps * rate)              sends  w_i  and  c_i' - c_i
    server:   w     <- as FedAvg,     c <- c + sum_i importance_i (c_i' - c_i)

So c stays the importance-weighted mean of all clients' c_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from ..core.pytrees import add, scale, subtract, where, zeros_like
from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message, Predictor, State, Upload
from .base import Aggregate, Reply, algorithm_registry
from .fedavg import FedAvg
from .needs import Needs
from .shared.client_data import ClientData
from .shared.local_sgd import local_sgd


@algorithm_registry.add("scaffold")
@dataclass(frozen=True, kw_only=True)
class Scaffold(FedAvg):
    """FedAvg with control variates that remove client drift (Karimireddy et al., 2020)."""

    name: ClassVar[str] = "scaffold"
    needs: ClassVar[Needs] = Needs(importance_sum=True)

    def __post_init__(self) -> None:
        plain = self.optimizer.name == "sgd" and not self.optimizer.options and self.optimizer.clip is None
        if not plain or self.optimizer.custom is not None:
            raise ConfigError(
                "SCAFFOLD reads gradients off the local steps, so its client optimizer must be plain sgd."
            )

    def init(self, task: Task, key: jax.Array) -> State:
        state = super().init(task, key)
        return State({**state, "control": zeros_like(state["params"])})

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return Memory({"control": zeros_like(message["control"])})

    def broadcast(self, task: Task, state: State) -> Message:
        return Message({"params": state["params"], "control": state["control"]})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        start, own = message["params"], memory["control"]
        drift = subtract(message["control"], own)
        trained = local_sgd(task, start, data, self.optimizer, correction=drift)
        traveled = data.steps * self.optimizer.learning_rate * self.optimizer.factor(data.round)
        mean_gradient = scale(1.0 / jnp.maximum(traveled, 1e-30), subtract(start, trained.params))
        control = where(traveled > 0, subtract(mean_gradient, drift), own)
        upload = {"params": trained.params, "control": subtract(control, own)}
        return Reply(Upload(upload), Memory({"control": control}), {"train_loss": trained.loss})

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        assert mixed.start is not None
        stepped = self.server_step(
            state, mixed.total["params"], mixed.start["params"], mixed.round, mixed.weight
        )
        assert mixed.importance_sum is not None
        return State({**stepped, "control": add(state["control"], mixed.importance_sum["control"])})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return message["params"]
