"""Local state of modules: every client keeps its own running statistics.

The model that is sent and averaged has state, too, but a client puts its own in its place, trains from there
and predicts with it. So the server's state is the mean over those who took part last, which is what a client
starts from that has none of its own:

    client:   w_i, s_i <- train from (w, s_i);   sends  w_i, s_i;   remembers  s_i
    predict:  with (w, s_i), or with (w, s) if it has never taken part
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax

from ...errors import ConfigError
from ...models import Stateful, Task
from ...models.module_state import choose_state, with_state
from ...typing import Event, Int64s, Memory, Message, Predictor, PyTree
from ..base import Algorithm, Reply
from .client_data import ClientData
from .wrapper import AlgorithmWrapper


def keep_state(algorithm: Algorithm, task: Task) -> Algorithm:
    """The method that does with a model's state what was chosen; refused where it has no place for it."""
    choice = task.model.state
    if choice is None or isinstance(algorithm, LocalState):
        return algorithm
    if not algorithm.takes_state:
        name = algorithm.name or type(algorithm).__name__
        raise ConfigError(
            f"{name} has no rule for the state of a model, such as running statistics; choose a method that "
            "averages what local training gives, such as fedavg, fedprox, scaffold or fedbn, or a model "
            "without state, such as one with group normalization."
        )
    chosen = choose_state(choice, "running statistics")
    return LocalState(inner=algorithm, work=algorithm.work) if chosen == "local" else algorithm


@dataclass(frozen=True, kw_only=True)
class LocalState(AlgorithmWrapper):
    """A method whose clients each keep the state of the model."""

    personalized: ClassVar[bool] = True

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return Memory({"method": self.method.init_client(task, message, key), "state": _state(message)})

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        return Memory({"method": self.method.newcomer(task, message, data, key), "state": _state(message)})

    def notices(self, memories: Memory, rows: Int64s) -> list[Event]:
        return self.method.notices(memories["method"], rows)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        started = _put(message, memory["state"])
        reply = self.method.client(task, started, memory["method"], data, key)
        after = _model(reply.upload)
        state = memory["state"] if after is None else after.state
        return reply._replace(memory=Memory({"method": reply.memory, "state": state}))

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        own = _put(message, memory["state"])
        return self.method.predictor(task, own, memory["method"], data, key)


def _model(message: PyTree) -> Stateful | None:
    """The model in a message or an upload: the whole of it, or its `params`."""
    found = message.get("params") if isinstance(message, dict) else message
    return found if isinstance(found, Stateful) else None


def _state(message: Message) -> PyTree:
    found = _model(message)
    return {} if found is None else found.state


def _put(message: Message, state: PyTree) -> Message:
    found = _model(message)
    if found is None:
        return message
    own = with_state(found, state)
    return Message({**message, "params": own} if isinstance(message, dict) else own)
