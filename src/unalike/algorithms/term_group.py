"""TERM-Group: clients are weighted by the exponential of their group's loss (Li, Beirami, Sanjabi, Smith,
Tilted Empirical Risk Minimization, 2021), tilted between groups and level inside each.

    server:   weight_k = exp(t L_k) / sum_j p_j exp(t L_j)        L_k: mean of the last losses of k's group
    client:   w_k <- descend from w;                              sends  w_k  and  F_k(w), with this weight

A group's loss is that of the models its clients were last sent. Without groups, every client is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ..models import Task
from ..typing import Memory, Message, State, Upload
from .base import Reply, algorithm_registry
from .shared.client_data import ClientData
from .shared.last_losses import mean_loss, report_loss
from .shared.local_sgd import local_sgd
from .shared.loss_aware import LossAware
from .shared.newcomers import require_not_negative


@algorithm_registry.add("term-group")
@dataclass(frozen=True, kw_only=True)
class TermGroup(LossAware):
    """Clients of groups with large losses count more, by their exponential (Li et al., 2021)."""

    t: float = 1.0
    """0 for FedAvg; the larger, the closer to the worst group's loss alone."""
    training_loss: bool = False
    """Whether clients report the mean loss that their training saw on its way, which costs nothing, in place
    of the published one, for which they look at all rows once more."""

    name: ClassVar[str] = "term-group"
    grid: ClassVar = {"t": (1.0, 2.0, 5.0)}

    def __post_init__(self) -> None:
        require_not_negative(t=self.t)

    def broadcast(self, task: Task, state: State) -> Message:
        return Message({"params": state["params"], "weights": self.weights(state["losses"])})

    def weights(self, losses: jax.Array) -> jax.Array:
        """What every client's weight is multiplied by; by importance, they are one on average."""
        mine = self.groups.mean_losses(losses)[np.asarray(self.groups.group)]
        tilted = jnp.exp(jnp.maximum(self.t * (mine - mine.max()), -60.0))
        return tilted / (jnp.asarray(self.groups.importance) @ tilted)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        weight = message["weights"][data.client]
        trained = local_sgd(task, message["params"], data, self.optimizer)
        loss = trained.loss if self.training_loss else mean_loss(task, message["params"], data)
        told = report_loss(loss, data.client, len(message["weights"]), 1.0 / weight)
        report = {"train_loss": trained.loss, "multiplier": weight}
        return Reply(Upload({"params": trained.params, **told}), memory, report, weight)
