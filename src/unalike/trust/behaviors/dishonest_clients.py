"""Honest and dishonest clients in one algorithm: a method around a method.

    client i:    upload_i  ->  behavior(upload_i)  if i is dishonest,  upload_i  otherwise

Everything else is the wrapped algorithm's. A dishonest client keeps what its behavior remembers beside what
the algorithm does; honest ones carry the same shapes, unused. With nobody dishonest the method is the wrapped
one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from ...algorithms import Algorithm, ClientData, Reply
from ...algorithms.shared.wrapper import AlgorithmWrapper
from ...core import pytrees
from ...core.pytrees import shapes
from ...errors import ConfigError
from ...models import Task
from ...typing import Event, Int64s, Memory, Message, Predictor, Upload
from .base import Behavior, Situation


@dataclass(frozen=True, kw_only=True)
class DishonestClients(AlgorithmWrapper):
    """An algorithm some of whose clients (`who`, their numbers) are not honest.

    >>> from unalike.algorithms import FedAvg
    >>> method = misbehave(FedAvg(), Behavior(), [3])
    >>> method.name, method.dishonest
    ('fedavg', (3,))
    """

    behavior: Behavior
    who: tuple[int, ...] = ()

    @property
    def dishonest(self) -> tuple[int, ...]:
        """The numbers of the clients that are not honest."""
        return self.who

    def notices(self, memories: Memory, rows: Int64s) -> list[Event]:
        return self.method.notices(_inner(memories), rows)

    def predictor(
        self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array
    ) -> Predictor:
        return self.method.predictor(task, message, _inner(memory), data, key)

    def init_client(self, task: Task, message: Message, key: jax.Array) -> Memory:
        return self._remember(self.method.init_client(task, message, key), message)

    def newcomer(self, task: Task, message: Message, data: ClientData, key: jax.Array) -> Memory:
        return self._remember(self.method.newcomer(task, message, data, key), message)

    def client(self, task: Task, message: Message, memory: Memory, data: ClientData, key: jax.Array) -> Reply:
        if not self.who:
            reply = self.method.client(task, message, _inner(memory), data, key)
            return reply._replace(memory=_join_memories(reply.memory, Memory({})))
        lying = jnp.any(jnp.asarray(data.client) == jnp.asarray(self.who))
        worked = replace(data, steps=jnp.where(lying, self.behavior.change_work(data).steps, data.steps))
        reply = self.method.client(task, message, _inner(memory), worked, key)
        if self.behavior.replaces_changes:
            _check_alike(message, reply.upload)
        own = memory.get("own", {})
        now = Situation(message, own, data.round, key)
        upload, kept = self.behavior.change_upload(reply.upload, now)
        return reply._replace(
            upload=pytrees.where(lying, upload, reply.upload),
            memory=_join_memories(reply.memory, pytrees.where(lying, kept, own)),
            report={**reply.report, "dishonest": lying.astype(jnp.float32)},
        )

    def _remember(self, inner: Memory, message: Message) -> Memory:
        return _join_memories(inner, Memory(self.behavior.first_memory(message) if self.who else {}))


def misbehave(algorithm: Algorithm, behavior: Behavior, who: Any) -> DishonestClients:
    """The algorithm, of whose clients these behave in that way."""
    numbers = tuple(sorted({int(i) for i in who}))
    return DishonestClients(work=algorithm.work, inner=algorithm, behavior=behavior, who=numbers)


def _join_memories(inner: Memory, own: Memory) -> Memory:
    """What the method and the behavior remember; {} where neither does, for then engines keep nothing."""
    return Memory({"inner": inner, "own": own} if jax.tree.leaves((inner, own)) else {})


def _inner(memory: Memory) -> Memory:
    """What the wrapped method remembers."""
    return memory.get("inner", {})


def _check_alike(message: Message, upload: Upload) -> None:
    if shapes(message) != shapes(upload):
        raise ConfigError(
            "this behavior changes how an upload differs from the message, but this algorithm's uploads "
            "have other shapes than its messages; choose one such as fedavg or fedprox."
        )
