"""AFL: minimize the loss of the worst mixture of clients or groups (Mohri, Sivek, Suresh, Agnostic Federated
Learning, 2019).

    min_w  max_{lam on the simplex}  sum_i lam_i L_i(w)
    client:   w_k <- descend from w;     sends  w_k  and  F_k(w), with weight  lam_i / (importance of group i)
    server:   lam <- nearest point of the simplex to  lam + lam_rate * (L_1, ..., L_d)
    predict:  with the mean of all models w

Groups are the domains of the paper; without groups, every client is one. It is meant for few clients which
all take part, with one step a round (`steps = 1`); with more steps it is a heuristic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from ..core.pytrees import add_scaled, subtract
from ..models import Task
from ..typing import Memory, Message, Predictor, State, Upload
from .base import Aggregate, Reply, algorithm_registry
from .needs import Needs
from .shared.client_data import ClientData
from .shared.last_losses import mean_loss, report_loss, traffic_with_numbers, update_losses
from .shared.local_sgd import local_sgd
from .shared.loss_aware import LossAware
from .shared.newcomers import require_not_negative
from .shared.simplex import project_simplex


@algorithm_registry.add("afl")
@dataclass(frozen=True, kw_only=True)
class AFL(LossAware):
    """The model that is best for the worst mixture of clients or groups (Mohri et al., 2019)."""

    lam_rate: float = 0.1
    """How quickly the mixture turns to those with large losses."""
    average: bool = True
    """Whether clients predict with the mean of all models; otherwise with the last one."""

    name: ClassVar[str] = "afl"
    needs: ClassVar[Needs] = Needs(importance_sum=True)
    grid: ClassVar = {"lam_rate": (0.01, 0.1, 0.5)}

    def __post_init__(self) -> None:
        require_not_negative(lam_rate=self.lam_rate)

    @property
    def equals_local_training(self) -> bool:
        return super().equals_local_training and not self.average

    def init(self, task: Task, key: jax.Array) -> State:
        state = super().init(task, key)
        return State(
            {
                **state,
                "lam": jnp.asarray(self.groups.totals, jnp.float32),
                "average": state["params"],
                "rounds": jnp.zeros(()),
            }
        )

    def broadcast(self, task: Task, state: State) -> Message:
        each = state["lam"] / jnp.asarray(self.groups.totals, jnp.float32)
        weights = each[np.asarray(self.groups.group)]
        return Message({"params": state["params"], "weights": weights, "average": state["average"]})

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        # The mean goes down once, when training has ended.
        return traffic_with_numbers(message["params"], 0, 1)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        weight = message["weights"][data.client]
        loss = mean_loss(task, message["params"], data)
        trained = local_sgd(task, message["params"], data, self.optimizer)
        told = report_loss(loss, data.client, len(message["weights"]), jnp.ones(()))
        report = {"train_loss": trained.loss, "multiplier": weight}
        return Reply(Upload({"params": trained.params, **told}), memory, report, weight)

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        assert mixed.start is not None
        assert mixed.importance_sum is not None
        stepped = self.server_step(state, mixed.total["params"], mixed.start["params"], mixed.round)
        # By importance: who has lost all weight in the mixture must still be heard.
        losses = update_losses(state["losses"], mixed.importance_sum)
        rounds = state["rounds"] + 1
        moved = subtract(stepped["params"], state["average"])
        return State(
            {
                **stepped,
                "losses": losses,
                "lam": project_simplex(state["lam"] + self.lam_rate * self.groups.mean_losses(losses)),
                "average": add_scaled(state["average"], 1.0 / rounds, moved),
                "rounds": rounds,
            }
        )

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return message["average" if self.average else "params"]
