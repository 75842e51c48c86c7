"""Ditto: every client also trains a personal model that is kept near the global one (Li, Hu, Beirami, Smith,
Ditto: Fair and Robust Federated Learning Through Personalization, 2021).

    client:   w_i <- descend from w;                                                    sends  w_i
              v_i <- descend from v_i on   f_i(v) + lam/2 |v - w|^2                     stays with the client
    server:   w   <- as FedAvg
    predict:  with v_i

A newcomer's v starts at w.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax

from ..models import Task
from ..typing import Memory, Message, Params, Predictor
from .base import Reply, algorithm_registry
from .fedavg import FedAvg
from .shared.client_data import ClientData
from .shared.local_sgd import LocalResult, local_sgd
from .shared.newcomers import TrainsNewcomers, require_not_negative
from .shared.optimizer_steps import with_rate


@algorithm_registry.add("ditto")
@dataclass(frozen=True, kw_only=True)
class Ditto(TrainsNewcomers, FedAvg):
    """FedAvg, and personal models that stay near the global one (Li et al., 2021)."""

    lam: float = 0.1
    """How strongly personal models are pulled to the global one."""
    personal_learning_rate: float | None = None
    """The rate of the personal model's steps; the global model's when not given."""

    name: ClassVar[str] = "ditto"
    grid: ClassVar = {"lam": (0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0)}

    def __post_init__(self) -> None:
        super().__post_init__()
        require_not_negative(lam=self.lam)
        with_rate(self.optimizer, self.personal_learning_rate)

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return Memory({"params": message})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        trained = local_sgd(task, message, data, self.optimizer)
        personal = self._near(task, message, memory["params"], data)
        report = {"train_loss": trained.loss, "personal_loss": personal.loss}
        return Reply(trained.params, Memory({"params": personal.params}), report)

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        return Memory({"params": self._near(task, message, message, data).params})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return memory["params"]

    def _near(self, task: Task, anchor: Params, start: Params, data: ClientData) -> LocalResult:
        optimizer = with_rate(self.optimizer, self.personal_learning_rate)
        return local_sgd(task, start, data, optimizer, anchor=anchor, mu=self.lam)
