"""How does one algorithm have honest and dishonest clients?  (A method around a method.)

    client i:    upload_i  ->  behaviour(upload_i)  if i is dishonest,  upload_i  otherwise

Everything else is the wrapped algorithm's. A dishonest client keeps what its behaviour remembers beside what
the algorithm does; honest ones carry the same shapes, unused. With nobody dishonest the method is the wrapped
one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from ...algorithms import Aggregate, Algorithm, ClientData, LocalWork, Messages, Reply
from ...core import pytrees
from ...core.pytrees import shapes
from ...data import Federation
from ...errors import ConfigError
from ...models import Task
from ...typing import Int64s, Memory, Message, Params, Predictor, State, Upload
from .base import Behaviour, Situation


@dataclass(frozen=True, kw_only=True)
class DishonestClients(Algorithm):
    """An algorithm some of whose clients (`who`, their numbers) are not honest.

    >>> from unalike.algorithms import FedAvg
    >>> method = misbehave(FedAvg(), Behaviour(), [3])
    >>> method.name, method.dishonest
    ('fedavg', (3,))
    """

    inner: Algorithm
    behaviour: Behaviour
    who: tuple[int, ...] = ()

    @property
    def dishonest(self) -> tuple[int, ...]:
        """The numbers of the clients that are not honest."""
        return self.who

    # What the wrapped method says of itself -----------------------------------------------------------------

    @property
    def method(self) -> Algorithm:
        """The wrapped method, with the local work that this one was given."""
        return replace(self.inner, work=self.work)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.inner.name

    @property
    def personalized(self) -> bool:  # type: ignore[override]
        return self.inner.personalized

    @property
    def keeps_uploads(self) -> bool:  # type: ignore[override]
        return self.inner.keeps_uploads

    @property
    def sums_by_importance(self) -> bool:  # type: ignore[override]
        return self.inner.sums_by_importance

    @property
    def decentralized(self) -> bool:  # type: ignore[override]
        return self.inner.decentralized

    @property
    def needs_rounds(self) -> bool:  # type: ignore[override]
        return self.inner.needs_rounds

    @property
    def evaluation_work(self) -> LocalWork:
        return self.method.evaluation_work

    def init(self, task: Task, key: jax.Array) -> State:
        return self.method.init(task, key)

    def traffic(self, message: Message, upload: Upload) -> tuple[int, int]:
        return self.method.traffic(message, upload)

    def notices(self, memories: Memory, rows: Int64s) -> list[dict[str, Any]]:
        return self.method.notices(_inner(memories), rows)

    def prepare(self, task: Task, federation: Federation) -> Algorithm:
        return replace(self, inner=self.method.prepare(task, federation))

    def broadcast(self, task: Task, state: State) -> Message:
        return self.method.broadcast(task, state)

    def messages(self, task: Task, state: State) -> Messages:
        return self.method.messages(task, state)

    def models(self, message: Message) -> Params:
        return self.method.models(message)

    def aggregate(self, task: Task, state: State, mixed: Aggregate) -> State:
        return self.method.aggregate(task, state, mixed)

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return self.method.predictor(task, message, _inner(memory), data, key)

    def predict(self, task: Task, predictor: Predictor, x: jax.Array) -> jax.Array:
        return self.method.predict(task, predictor, x)

    # What is different --------------------------------------------------------------------------------------

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return self._remember(self.method.init_client(task, message, key), message)

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        return self._remember(self.method.newcomer(task, message, data, key), message)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        if not self.who:
            reply = self.method.client(task, message, _inner(memory), data, key)
            return reply._replace(memory=_joined(reply.memory, {}))
        lying = jnp.any(jnp.asarray(data.client) == jnp.asarray(self.who))
        worked = replace(data, steps=jnp.where(lying, self.behaviour.change_work(data).steps, data.steps))
        reply = self.method.client(task, message, _inner(memory), worked, key)
        if self.behaviour.replaces_changes:
            _check_alike(message, reply.upload)
        own = memory.get("own", {})
        now = Situation(message, own, data.round, key)
        upload, kept = self.behaviour.change_upload(reply.upload, now)
        return reply._replace(
            upload=pytrees.where(lying, upload, reply.upload),
            memory=_joined(reply.memory, pytrees.where(lying, kept, own)),
            report={**reply.report, "dishonest": lying.astype(jnp.float32)},
        )

    def _remember(self, inner: Memory, message: Message) -> Memory:
        return _joined(inner, self.behaviour.first_memory(message) if self.who else {})


def misbehave(algorithm: Algorithm, behaviour: Behaviour, who: Any) -> DishonestClients:
    """The algorithm, of whose clients these behave in that way."""
    numbers = tuple(sorted({int(i) for i in who}))
    return DishonestClients(work=algorithm.work, inner=algorithm, behaviour=behaviour, who=numbers)


def _joined(inner: Memory, own: Memory) -> Memory:
    """What the method and the behaviour remember; {} where neither does, for then engines keep nothing."""
    return {"inner": inner, "own": own} if jax.tree.leaves((inner, own)) else {}


def _inner(memory: Memory) -> Memory:
    """What the wrapped method remembers."""
    return memory.get("inner", {})


def _check_alike(message: Message, upload: Upload) -> None:
    if shapes(message) != shapes(upload):
        raise ConfigError(
            "this behaviour changes how an upload differs from the message, but this algorithm's uploads "
            "have other shapes than its messages; choose one such as fedavg or fedprox."
        )
