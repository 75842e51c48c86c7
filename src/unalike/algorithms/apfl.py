"""APFL: every client interpolates the global model and a local one (Deng, Kamani, Mahdavi, Adaptive
Personalized Federated Learning, 2020).

    client, for each batch:   mixed <- alpha v_i + (1 - alpha) w_i
                              w_i   <- w_i - rate * grad f_i(w_i)                      sends  w_i
                              v_i   <- v_i - rate * alpha * grad f_i(mixed)            stays with the client
               if adaptive:   alpha <- alpha - rate * <v_i - w_i, grad f_i(mixed)>     within [0, 1]
    server:    w <- as FedAvg
    predict:   with  alpha v_i + (1 - alpha) w

A newcomer trains v from the global model, and w stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from ..core.pytrees import add_scaled, scale, subtract
from ..models import Batch, Task
from ..typing import Memory, Message, Predictor, PyTree
from .base import Reply, algorithm_registry
from .fedavg import FedAvg
from .shared.client_data import ClientData
from .shared.newcomers import TrainsNewcomers, require_fraction
from .shared.optimizer_steps import OptimizerState, OptimizerSteps


class Pair(NamedTuple):
    """A client's copy of the global model, its own model, and how much its own counts."""

    shared: OptimizerState
    personal: OptimizerState
    alpha: jax.Array
    losses: jax.Array
    """The sums of the shared and of the mixed model's losses so far."""


@algorithm_registry.add("apfl")
@dataclass(frozen=True, kw_only=True)
class APFL(TrainsNewcomers, FedAvg):
    """Clients mix the global model with one of their own, in a fixed or learned share (Deng et al., 2020)."""

    alpha: float = 0.5
    """The share of a client's own model in what it predicts with; where it starts when `adaptive`."""
    adaptive: bool = False
    """Whether each client learns its share."""

    name: ClassVar[str] = "apfl"
    takes_state: ClassVar[bool] = False
    grid: ClassVar = {"alpha": (0.1, 0.3, 0.5, 0.7, 0.9)}

    def __post_init__(self) -> None:
        super().__post_init__()
        require_fraction(alpha=self.alpha)

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return Memory({"params": message, "alpha": jnp.asarray(self.alpha, jnp.float32)})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        end = self._train(task, message, memory, data)
        shared, mixed = end.losses / jnp.maximum(data.steps, 1)
        report = {"train_loss": shared, "personal_loss": mixed, "alpha": end.alpha}
        return Reply(end.shared.params, _memory(end), report)

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        first = self.init_client(task, message, key)
        return _memory(self._train(task, message, first, data, shared_too=False))

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return mix(memory["alpha"], memory["params"], message)

    def _train(
        self, task: Task, message: Message, memory: Memory, data: ClientData, shared_too: bool = True
    ) -> Pair:
        descent = OptimizerSteps(self.optimizer, data.round)

        def step(pair: Pair, batch: Batch) -> Pair:
            shared, personal, alpha, losses = pair
            mixed = mix(alpha, personal.params, shared.params)
            loss, gradient = task.loss_and_gradient(shared.params, batch)
            mixed_loss, mixed_gradient = task.loss_and_gradient(mixed, batch)
            return Pair(
                descent.step(shared, gradient) if shared_too else shared,
                descent.step(personal, scale(alpha, mixed_gradient)),
                self._learned(alpha, descent.rate, subtract(personal.params, shared.params), mixed_gradient),
                losses + jnp.stack([loss, mixed_loss]),
            )

        start = Pair(descent.start(message), descent.start(memory["params"]), memory["alpha"], jnp.zeros(2))
        return data.fold(step, start)

    def _learned(self, alpha: jax.Array, rate: jax.Array, gap: PyTree, gradient: PyTree) -> jax.Array:
        if not self.adaptive:
            return alpha
        slope = sum(jax.tree.leaves(jax.tree.map(jnp.vdot, gap, gradient)))
        return jnp.clip(alpha - rate * slope, 0.0, 1.0)


def mix(alpha: jax.Array, personal: PyTree, shared: PyTree) -> PyTree:
    """alpha * personal + (1 - alpha) * shared; exactly one of them at the ends."""
    return add_scaled(scale(alpha, personal), 1.0 - alpha, shared)


def _memory(pair: Pair) -> PyTree:
    return {"params": pair.personal.params, "alpha": pair.alpha}
