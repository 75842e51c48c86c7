"""FedAvg: clients descend locally, the server averages (McMahan et al., Communication-Efficient Learning of
Deep Networks from Decentralized Data, 2017), with any server optimizer on the averaged change (Reddi et
al., Adaptive Federated Optimization, 2021).

    client:   w_i <- descend from v, the model it was sent;   sends  w_i
    server:   w   <- ServerOptimizer(w, -sum_i weight_i (w_i - v_i))

Plain SGD with rate 1 at the server gives w + sum_i weight_i (w_i - v_i): the average of the w_i when
everyone started from w.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import jax
import optax

from ..core.pytrees import add, scale, subtract
from ..models import Task
from ..models.module_state import mean_state, without_state
from ..typing import Memory, Message, Params, PyTree, State
from .base import Aggregate, Algorithm, Reply, algorithm_registry
from .shared.client_data import ClientData
from .shared.local_sgd import local_sgd
from .shared.optimizers import PLAIN, Optimizer, is_plain


@algorithm_registry.add("fedavg")
@dataclass(frozen=True, kw_only=True)
class FedAvg(Algorithm):
    """Clients descend locally, the server averages (McMahan et al., 2017)."""

    optimizer: Optimizer = field(default_factory=Optimizer)
    server_optimizer: Optimizer = PLAIN

    name: ClassVar[str] = "fedavg"
    takes_state: ClassVar[bool] = True

    @property
    def equals_local_training(self) -> bool:
        return is_plain(self.server_optimizer)

    def init(self, task: Task, key: jax.Array) -> State:
        params = task.init(key)
        return State({"params": params, "server": self.server_optimizer.build().init(params)})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        trained = local_sgd(task, message, data, self.optimizer)
        return Reply(trained.params, memory, {"train_loss": trained.loss})

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        return self.server_step(state, mixed.total, mixed.start, mixed.round, mixed.weight)

    def server_step(
        self,
        state: State,
        total: PyTree,
        start: Params,
        round: jax.Array | int,
        weight: jax.Array | float = 1.0,
    ) -> State:
        """Let the server's optimizer follow the mean change as if it were a negative gradient; the state of
        a model that has one is averaged, whatever the optimizer (`weight` is the sum of all weights)."""
        stepped = self._optimized(state, total, start, round)
        return State(
            {**stepped, "params": mean_state(stepped["params"], state["params"], total, start, weight)}
        )

    def _optimized(self, state: State, total: PyTree, start: Params, round: jax.Array | int) -> State:
        optimizer = self.server_optimizer
        if is_plain(optimizer):
            # In this order nothing is rounded when a single client's model is taken over as it is.
            return State({**state, "params": add(total, subtract(state["params"], start))})
        change = without_state(subtract(total, start))
        updates, server = optimizer.build().update(scale(-1.0, change), state["server"], state["params"])
        updates = scale(optimizer.factor(round), updates) if optimizer.schedule != "constant" else updates
        return State({**state, "params": optax.apply_updates(state["params"], updates), "server": server})
