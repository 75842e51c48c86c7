"""Federated surrogate optimization: clients minimize majorizers of their objectives (Marfoq, Neglia, Bellet,
Kameni, Vidal, Federated Multi-Task Learning under a Mixture of Distributions, 2021).

    client t:   g_t  <-  surrogate of f_t near (u, v_t)
                v_t  <-  argmin_v g_t(u, v)                          stays with the client
                u_t  <-  descend from u on mini-batches of g_t;      sends u_t
    server:     u    <-  sum_t importance_t u_t

FedAvg is the case in which f is its own surrogate, FedEM that of a mixture's bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import jax
from jax import lax

from ..errors import ConfigError
from ..models import Batch, Task
from ..models.convolution_layout import canonical
from ..typing import Memory, Message, Params, Predictor, PyTree, State
from .base import Reply
from .fedavg import FedAvg
from .shared.client_data import ClientData
from .shared.decentralized import Decentralized
from .shared.local_sgd import local_sgd
from .shared.surrogates import Averaging, MixtureBound, Quadratic, Surrogate

SURROGATES: dict[str, type[Surrogate]] = {
    "mixture": MixtureBound,
    "averaging": Averaging,
    "quadratic": Quadratic,
}


class _Slope(NamedTuple):
    """What descent needs of a task: a loss per mini-batch and its gradient."""

    loss: Callable[[PyTree, Batch], jax.Array]

    def loss_and_gradient(self, params: Params, batch: Batch) -> tuple[jax.Array, PyTree]:
        """In the form that is fast inside compiled loops."""
        return canonical(jax.value_and_grad(self.loss))(params, batch)


@dataclass(frozen=True, kw_only=True)
class SurrogateOptimizer(FedAvg):
    """Clients descend on a surrogate of their objective, with private variables in closed form (Marfoq et
    al., 2021); FedEM and FedAvg in one."""

    surrogate: Surrogate = MixtureBound()  # noqa: RUF009 - frozen
    private_steps: int = 20
    """How often a client that joins after training refines its private variables."""

    name: ClassVar[str] = "surrogate"
    takes_state: ClassVar[bool] = False
    personalized: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.private_steps < 0:
            raise ConfigError(f"private_steps must not be negative, but is {self.private_steps}.")

    @property
    def equals_local_training(self) -> bool:
        return super().equals_local_training and isinstance(self.surrogate, Averaging)

    def init(self, task: Task, key: jax.Array) -> State:
        params = self.surrogate.init(task, key)
        return State({"params": params, "server": self.server_optimizer.build().init(params)})

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return self.surrogate.first()

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        surrogate = self.surrogate
        anchor = surrogate.build(task, message, memory, data)
        private = surrogate.best(task, anchor, message, data)
        slope = _Slope(partial(surrogate.loss, task, anchor))
        optimizer = surrogate.stepping(self.optimizer)
        trained = local_sgd(slope, message, surrogate.weighed(anchor, data), optimizer)  # type: ignore[arg-type]
        report = {"train_loss": trained.loss, "private_change": surrogate.distance(memory, private)}
        return Reply(trained.params, private, report)

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        def step(_: int, private: PyTree) -> PyTree:
            anchor = self.surrogate.build(task, message, private, data)
            return self.surrogate.best(task, anchor, message, data)

        return lax.fori_loop(0, self.private_steps, step, self.surrogate.first())

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return {"shared": message, "private": memory}

    def predict(self, task: Task, predictor: Predictor, x: jax.Array) -> jax.Array:
        return self.surrogate.predict(task, predictor["shared"], predictor["private"], x)


@dataclass(frozen=True, kw_only=True)
class DecentralizedSurrogate(Decentralized, SurrogateOptimizer):
    """The same between neighbors, without a server; needs a timing that mixes, such as gossip."""

    name: ClassVar[str] = "d-surrogate"
