"""Stochastic gradient push (push-sum): averaging on directed graphs that are not balanced (Nedic, Olshevsky,
Stochastic Gradient-Push for Strongly Convex Functions on Time-Varying Directed Graphs, 2016; Assran, Loizou,
Ballas, Rabbat, Stochastic Gradient Push for Distributed Deep Learning, 2019).

    client t:   z_t  =  x_t / m_t                           what it predicts and learns with
                x_t  <-  x_t + (descend from z_t) - z_t
                (x_t, m_t)  <-  sum_s P[t, s] (x_s, m_s)    with P whose *columns* sum to one

A client splits what it has among those it sends to, so nobody needs to know how often it is heard; the mass m
tells how much of the total a client holds, and z is right all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp

from ..core.pytrees import add, scale, subtract
from ..models import Task
from ..typing import Memory, Message, Predictor, PyTree, State, Upload
from .base import Aggregate, Reply, algorithm_registry
from .dpasgd import DPASGD
from .shared.client_data import ClientData
from .shared.decentralized import keep_own_if_isolated
from .shared.local_sgd import local_sgd


@algorithm_registry.add("push-sum")
@dataclass(frozen=True, kw_only=True)
class PushSum(DPASGD):
    """Averaging on unbalanced digraphs by pushing shares (Assran et al., 2019); needs a network."""

    name: ClassVar[str] = "push-sum"
    takes_state: ClassVar[bool] = False

    def init(self, task: Task, key: jax.Array) -> State:
        return State({**super().init(task, key), "mass": jnp.ones(self.clients)})

    def broadcast(self, task: Task, state: State) -> Message:
        return Message(state)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        start = self.predictor(task, message, memory, data, key)
        trained = local_sgd(task, start, self.paced(data), self.optimizer)
        pushed = add(message["params"], subtract(trained.params, start))
        return Reply(
            Upload({"params": pushed, "mass": message["mass"]}), memory, {"train_loss": trained.loss}
        )

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        return keep_own_if_isolated(mixed, mixed.total, state)

    def models(self, message: Message) -> PyTree:
        return jax.vmap(scale)(1.0 / message["mass"], message["params"])

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return scale(1.0 / message["mass"], message["params"])
