"""FedOMD: one model for all clients follows their changing rows (online mirror descent with the Euclidean
mirror map; after Mitra, Hassani, Pappas, Online Federated Learning, 2021).

    client:   plays w_t;  receives its rows of the step;  w_c <- K times  w - rate * sum_i gradient(w; i)
    server:   w_{t+1}  <-  sum_c importance_c w_c

The rival of FEM-OMD. The rate multiplies the sum over rows, as in FEM-OMD; with FedAvg, whose loss is a mean,
it is the number of rows times as large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax

from ..models import Task
from ..typing import Memory, Message
from .base import Reply, algorithm_registry
from .fedavg import FedAvg
from .shared.client_data import ClientData


@algorithm_registry.add("fed-omd")
@dataclass(frozen=True, kw_only=True)
class FedOMD(FedAvg):
    """One model that follows clients' changing rows, by sums of gradients (Mitra et al., 2021)."""

    name: ClassVar[str] = "fed-omd"
    takes_state: ClassVar[bool] = False

    @property
    def equals_local_training(self) -> bool:
        return False

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        rows = data.row_weights()
        return super().client(task, message, memory, data.weighted(rows * data.size), key)
