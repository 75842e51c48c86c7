"""Per-FedAvg: meta-learning of the model that one step on a client's rows improves most (Fallah, Mokhtari,
Ozdaglar, Personalized Federated Learning with Theoretical Guarantees: A Model-Agnostic Meta-Learning
Approach, 2020).

    client:    descends on   F_i(w) = f_i(w - alpha grad f_i(w)),     whose gradient is
               (I - alpha H_i(w)) g     with   g = grad f_i(w - alpha grad f_i(w)),   H_i = Hessian of f_i
    server:    as FedAvg
    predict:   with   w - alpha grad f_i(w)

The product with the Hessian is left out (`first-order`), is a difference of two gradients (`hessian-free`:
H u = (grad f(w + delta u) - grad f(w - delta u)) / (2 delta)), or is the inner step's own (`second-order`).
The gradients come from independent batches: g from the step's mini-batch, the inner step from the next one,
the two of `hessian-free` from the one after that, and from the first again after the last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import lax

from ..core.pytrees import add_scaled, subtract
from ..errors import ConfigError, unknown
from ..models import Batch, Task
from ..models.convolution_layout import canonical
from ..typing import Memory, Message, Params, Predictor, PyTree
from .base import LocalWork, Reply, algorithm_registry
from .fedavg import FedAvg
from .needs import Needs
from .shared.client_data import ClientData
from .shared.local_sgd import local_sgd
from .shared.newcomers import require_not_negative
from .shared.optimizer_steps import OptimizerState, OptimizerSteps

VARIANTS = ("first-order", "hessian-free", "second-order")


@algorithm_registry.add("per-fedavg")
@dataclass(frozen=True, kw_only=True)
class PerFedAvg(FedAvg):
    """FedAvg for a model that is tuned with a step on each client's rows before predicting (Fallah et al.,
    2020)."""

    alpha: float = 0.1
    """The rate of the inner step, and of the one before predicting."""
    variant: str = "first-order"
    """What becomes of the Hessian: first-order, hessian-free or second-order."""
    delta: float = 1e-2
    """How far apart, times the gradient, the two gradients of `hessian-free` are taken."""
    tune_steps: int = 1
    """Mini-batches that a client takes steps on before it predicts."""

    name: ClassVar[str] = "per-fedavg"
    takes_state: ClassVar[bool] = False
    personalized: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(rows_to_predict=True)
    grid: ClassVar = {"alpha": (10**-0.5, 0.1, 10**-1.5, 0.01)}

    def __post_init__(self) -> None:
        require_not_negative(alpha=self.alpha, tune_steps=self.tune_steps)
        if self.variant not in VARIANTS:
            raise unknown("variant", self.variant, VARIANTS)
        if not self.delta > 0:
            raise ConfigError(f"delta must be positive, but is {self.delta}.")

    @property
    def equals_local_training(self) -> bool:
        return super().equals_local_training and self.alpha == 0

    @property
    def evaluation_work(self) -> LocalWork:
        return replace(self.work, epochs=None, steps=self.tune_steps)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        descent = OptimizerSteps(self.optimizer, data.round)

        def step(s: jax.Array, carry: tuple[OptimizerState, jax.Array]) -> tuple[OptimizerState, jax.Array]:
            point, total = carry
            batches = [data.batch((s + ahead) % data.steps) for ahead in range(3)]
            loss, gradient = self._meta_gradient(task, point.params, *batches)
            return descent.step(point, gradient), total + loss

        point, total = lax.fori_loop(0, data.steps, step, (descent.start(message), jnp.zeros(())))
        return Reply(point.params, memory, {"train_loss": total / jnp.maximum(data.steps, 1)})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return local_sgd(task, message, data, replace(self.optimizer, learning_rate=self.alpha)).params

    def _meta_gradient(
        self, task: Task, params: Params, batch: Batch, inner: Batch, third: Batch
    ) -> tuple[jax.Array, PyTree]:
        """The loss after an inner step, and the gradient of that loss by the model before it."""
        if self.variant == "second-order":
            return canonical(jax.value_and_grad(lambda w: task.loss(self._tuned(task, w, inner), batch)))(
                params
            )
        loss, gradient = task.loss_and_gradient(self._tuned(task, params, inner), batch)
        if self.variant == "first-order":
            return loss, gradient
        there, back = (
            task.loss_and_gradient(add_scaled(params, way * self.delta, gradient), third)[1]
            for way in (1.0, -1.0)
        )
        return loss, add_scaled(gradient, -self.alpha / (2.0 * self.delta), subtract(there, back))

    def _tuned(self, task: Task, params: Params, batch: Batch) -> PyTree:
        return add_scaled(params, -self.alpha, task.loss_and_gradient(params, batch)[1])
