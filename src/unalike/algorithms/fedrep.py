"""FedRep: a shared representation under personalized heads, trained in turn (Collins, Hassani, Mokhtari,
Shakkottai, Exploiting Shared Representations for Personalized Federated Learning, 2021).

    client:   head_i <- descend on the head with the body fixed,    `head_epochs` times over the rows
              body_i <- descend from body with head_i fixed;                            sends  body_i
    server:   body   <- as FedAvg
    predict:  with (body, head_i)

Each pass over the head takes the mini-batches that were planned for the body, in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax

from ..models import Task
from ..typing import Memory, Message, PyTree
from .base import Reply, algorithm_registry
from .fedper import FedPer
from .shared.client_data import ClientData
from .shared.layer_split import repeat_batches, with_fixed
from .shared.local_sgd import local_sgd
from .shared.newcomers import require_not_negative
from .shared.optimizer_steps import with_rate


@algorithm_registry.add("fedrep")
@dataclass(frozen=True, kw_only=True)
class FedRep(FedPer):
    """Clients share a body and keep a head of their own, trained one after the other (Collins et al.,
    2021)."""

    head_epochs: int = 10
    """How often the round's mini-batches are taken for the head before they are taken for the body."""
    head_learning_rate: float | None = None
    """The rate of the head's steps; the body's when not given."""
    newcomer_epochs: int = 10

    name: ClassVar[str] = "fedrep"
    grid: ClassVar = {"head_learning_rate": (10**-0.5, 0.1, 10**-1.5, 0.01, 10**-2.5)}

    def __post_init__(self) -> None:
        super().__post_init__()
        require_not_negative(head_epochs=self.head_epochs)
        with_rate(self.optimizer, self.head_learning_rate)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        head = self._train_head(task, message, memory, repeat_batches(data, self.head_epochs))
        body = local_sgd(with_fixed(task, head), message, data, self.optimizer)
        return Reply(body.params, head, {"train_loss": body.loss})

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        return self._train_head(task, message, self.init_client(task, message, key), data)

    def _train_head(self, task: Task, body: PyTree, head: PyTree, data: ClientData) -> PyTree:
        optimizer = with_rate(self.optimizer, self.head_learning_rate)
        return local_sgd(with_fixed(task, body), head, data, optimizer).params
