"""FedPer: the last layers stay with the client (Arivazhagan, Aggarwal, Singh, Choudhary, Federated Learning
with Personalization Layers, 2019).

    client:   (body_i, head_i) <- descend from (body, head_i) on all parameters together;   sends  body_i
    server:   body <- as FedAvg
    predict:  with (body, head_i)

Heads are never sent, so no randomness of the server reaches them: all clients start with the same one. A
newcomer trains its head while the body stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax

from ..data.federation import Federation
from ..errors import ConfigError
from ..models import Task
from ..typing import Memory, Message, Params, Predictor, State
from .base import Algorithm, Reply, algorithm_registry
from .fedavg import FedAvg
from .shared.client_data import ClientData
from .shared.layer_split import Parts, PathPredicate, join, paths, split, under_path, with_fixed
from .shared.local_sgd import local_sgd
from .shared.newcomers import TrainsNewcomers


@algorithm_registry.add("fedper")
@dataclass(frozen=True, kw_only=True)
class FedPer(TrainsNewcomers, FedAvg):
    """Clients share a body and keep a head of their own, trained together (Arivazhagan et al., 2019)."""

    private: str | None = None
    """Where the parameters are that stay with the client, such as "dense/0,dense/1"; the model's last layer
    when not given, and none when empty."""

    name: ClassVar[str] = "fedper"

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        found = paths(jax.eval_shape(task.init, jax.random.key(0)))
        for root in self._roots(task, found):
            if not any(under_path(root)(path) for path in found):
                raise ConfigError(f"private has {root!r}, but the model's parameters are {', '.join(found)}.")
        if all(map(self._keeps(task), found)):
            raise ConfigError(
                f"{self.name} would share nothing, for all parameters ({', '.join(found)}) would be private; "
                'choose another model or give private="...".'
            )
        return self

    def init(self, task: Task, key: jax.Array) -> State:
        body = self.split(task, task.init(key)).shared
        return State({"params": body, "server": self.server_optimizer.build().init(body)})

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return self.split(task, task.init(jax.random.key(0))).private

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        trained = local_sgd(task, join(message, memory), data, self.optimizer)
        body, head = self.split(task, trained.params)
        return Reply(body, head, {"train_loss": trained.loss})

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        start = self.init_client(task, message, key)
        return local_sgd(with_fixed(task, message), start, data, self.optimizer).params

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return join(message, memory)

    def split(self, task: Task, params: Params) -> Parts:
        """What is shared of a model, and what stays with the client."""
        return split(params, self._keeps(task))

    def _keeps(self, task: Task) -> PathPredicate:
        return under_path(*self._roots(task, []))

    def _roots(self, task: Task, found: list[str]) -> list[str]:
        if self.private is not None:
            return [root.strip() for root in self.private.split(",") if root.strip()]
        if task.model.head is None:
            raise ConfigError(
                f"{self.name} keeps the model's last layer with the client, but this model does not say "
                f'which; choose another model, such as mlp, or give private="..." ({", ".join(found)}).'
            )
        return [task.model.head]
