"""Local: every client trains alone. The baseline that shows whether federated learning is worth it.

client:   w_i <- descend(w_i, data_i);   sends nothing
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import jax

from ..models import Task
from ..typing import Memory, Message, Predictor, State, Upload
from .base import Aggregate, Algorithm, Reply, algorithm_registry
from .shared.client_data import ClientData
from .shared.local_sgd import local_sgd
from .shared.optimizers import Optimizer


@algorithm_registry.add("local")
@dataclass(frozen=True, kw_only=True)
class Local(Algorithm):
    """Every client trains alone, from the same start; nothing is sent."""

    optimizer: Optimizer = field(default_factory=Optimizer)

    name: ClassVar[str] = "local"
    personalized: ClassVar[bool] = True
    takes_state: ClassVar[bool] = True

    @property
    def equals_local_training(self) -> bool:
        return True

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        return 0, 0

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return Memory({"params": message})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        trained = local_sgd(task, memory["params"], data, self.optimizer)
        return Reply(Upload({}), Memory({"params": trained.params}), {"train_loss": trained.loss})

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        return state

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return memory["params"]
