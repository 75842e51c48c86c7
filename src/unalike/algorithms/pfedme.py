"""pFedMe: personal models in the Moreau envelope of a global one (Dinh, Tran, Nguyen, Personalized Federated
Learning with Moreau Envelopes, 2020).

    client, for each batch:   theta_i <- `steps` of descent on   f_i(theta) + lam/2 |theta - w_i|^2
                              w_i     <- w_i - eta lam (w_i - theta_i)                       sends  w_i
    server:    w <- (1 - beta) w + beta sum_i weight_i w_i
    predict:   with theta_i

theta starts a round at w and goes on from batch to batch. `pfedme-simple` has no copies of w: every client
keeps v_i, and w is the mean of all of them.

    client:    v_i <- descend from v_i on   f_i(v) + lam/2 |v - w|^2                         sends its change
    server:    w   <- sum_i importance_i v_i,   over all clients that have a model, taking part or not
    predict:   with v_i
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import lax

from ..core.pytrees import add, add_scaled, scale, subtract, where, zeros_like
from ..errors import ConfigError
from ..models import Batch, Task
from ..typing import Memory, Message, Params, Predictor, PyTree, State, Upload
from .base import Aggregate, Reply, algorithm_registry
from .fedavg import FedAvg
from .needs import Needs
from .shared.client_data import ClientData
from .shared.local_sgd import LocalResult, local_sgd
from .shared.newcomers import TrainsNewcomers, require_not_negative
from .shared.optimizer_steps import OptimizerState, OptimizerSteps
from .shared.optimizers import Optimizer

LAM = (10.0, 1.0, 0.1, 0.01, 0.001)


@algorithm_registry.add("pfedme")
@dataclass(frozen=True, kw_only=True)
class PFedMe(TrainsNewcomers, FedAvg):
    """Personal models near a global one that follows them (Dinh et al., 2020)."""

    lam: float = 1.0
    """How strongly personal models are pulled to the local copy of the global one."""
    eta: float = 0.5
    """The rate at which the local copy follows the personal model; it goes a part `eta` * `lam` of the way,
    but no further than there."""
    beta: float = 1.0
    """How far the server goes towards the clients' average; more than 1 goes further."""
    steps: int = 5
    """Steps of the personal model on each mini-batch."""

    name: ClassVar[str] = "pfedme"
    takes_state: ClassVar[bool] = False
    grid: ClassVar = {"lam": LAM}

    def __post_init__(self) -> None:
        super().__post_init__()
        require_not_negative(lam=self.lam, eta=self.eta, steps=self.steps)
        if not self.beta > 0:
            raise ConfigError(f"beta must be positive, but is {self.beta}.")

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return Memory({"params": message})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        descent = OptimizerSteps(self.optimizer, data.round)

        def follow(carry: tuple[PyTree, PyTree, jax.Array], batch: Batch) -> tuple[PyTree, PyTree, jax.Array]:
            copy, personal, total = carry
            personal, loss = self._near(task, copy, personal, batch, descent)
            copy = add_scaled(copy, min(self.eta * self.lam, 1.0), subtract(personal, copy))
            return copy, personal, total + loss

        copy, personal, total = data.fold(follow, (message, message, jnp.zeros(())))
        return Reply(
            Upload(copy), Memory({"params": personal}), {"train_loss": total / jnp.maximum(data.steps, 1)}
        )

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        stepped = super().aggregate(task, state, mixed)
        change = subtract(stepped["params"], state["params"])
        return State({**stepped, "params": add_scaled(state["params"], self.beta, change)})

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        return self.client(task, message, self.init_client(task, message, key), data, key).memory

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return memory["params"]

    def _near(
        self, task: Task, anchor: Params, start: Params, batch: Batch, descent: OptimizerSteps
    ) -> tuple[PyTree, jax.Array]:
        """The personal model after its steps on a batch, and its last loss."""

        def step(_: int, carry: tuple[OptimizerState, jax.Array]) -> tuple[OptimizerState, jax.Array]:
            point = carry[0]
            loss, gradient = task.loss_and_gradient(point.params, batch)
            pulled = add_scaled(gradient, self.lam, subtract(point.params, anchor))
            return descent.step(point, pulled), loss

        point, loss = lax.fori_loop(0, self.steps, step, (descent.start(start), jnp.zeros(())))
        return point.params, loss


@algorithm_registry.add("pfedme-simple")
@dataclass(frozen=True, kw_only=True)
class PFedMeSimple(TrainsNewcomers):
    """Personal models that are pulled to the mean of all of them."""

    optimizer: Optimizer = field(default_factory=Optimizer)
    lam: float = 0.1
    """How strongly personal models are pulled to their mean."""

    name: ClassVar[str] = "pfedme-simple"
    needs: ClassVar[Needs] = Needs(importance_sum=True)
    grid: ClassVar = {"lam": LAM}

    def __post_init__(self) -> None:
        super().__post_init__()
        require_not_negative(lam=self.lam)

    def init(self, task: Task, key: jax.Array) -> State:
        params = task.init(key)
        return State({"params": params, "sum": zeros_like(params), "share": jnp.zeros(())})

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return Memory({"params": message["params"], "counted": jnp.zeros(())})

    def broadcast(self, task: Task, state: State) -> Message:
        return Message({"params": state["params"]})

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        trained = self._near(task, message["params"], memory["params"], data)
        return self.reply(memory, trained.params, trained.loss)

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        news = mixed.importance_sum
        assert news is not None
        total, share = add(state["sum"], news["change"]), state["share"] + news["joined"]
        mean = scale(1.0 / jnp.where(share > 0, share, 1.0), total)
        return State(
            {**state, "params": where(share > 0, mean, state["params"]), "sum": total, "share": share}
        )

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        mean, first = message["params"], self.init_client(task, message, key)
        return Memory({**first, "params": self._near(task, mean, mean, data).params})

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return memory["params"]

    @property
    def strength(self) -> float:
        """What multiplies the way to the mean in the gradient."""
        return self.lam

    def _near(self, task: Task, mean: PyTree, start: Params, data: ClientData) -> LocalResult:
        return local_sgd(task, start, data, self.optimizer, anchor=mean, mu=self.strength)

    @staticmethod
    def reply(memory: Memory, params: Params, loss: jax.Array) -> Reply:
        """Keep the new model and send its change: since the last time, or since nothing at first."""
        counted = memory["counted"]
        upload = {"change": add_scaled(params, -counted, memory["params"]), "joined": 1.0 - counted}
        return Reply(
            Upload(upload), Memory({"params": params, "counted": jnp.ones(())}), {"train_loss": loss}
        )
