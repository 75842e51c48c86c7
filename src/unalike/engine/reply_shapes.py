"""Shapes of a client's reply, without computing anything.

Memories are laid out and sums begun before the first client has worked, so a client is traced once for its
shapes. Tracing takes most of a start: what was found for a method, a task and the shapes of its message is
kept, for programs that are compiled later and for the next run of a comparison.
"""

from __future__ import annotations

from functools import lru_cache

import jax
import jax.numpy as jnp

from ..algorithms import Algorithm, ClientData, Reply
from ..algorithms.base import check_reply
from ..core.pytrees import shapes
from ..errors import ConfigError
from ..models import Task
from ..typing import Leaf, Memory, Message
from .base import Setting
from .traced_rates import Rates, fill_rates, tell_rates

KEPT = 64
"""Replies whose shapes are kept; they hold no numbers."""


def message_template(setting: Setting) -> Message:
    """The shapes of what the server broadcasts."""
    task, algorithm = setting.task, setting.algorithm
    state = jax.eval_shape(lambda: algorithm.init(task, jax.random.key(0)))
    return jax.eval_shape(lambda s: algorithm.broadcast(task, s), state)


def reply_template(setting: Setting, message: Message) -> Reply:
    """The shapes of what one client hands back; the memory's must be those of its first memory."""
    train = setting.federation.train
    return reply_shapes(setting.algorithm, setting.task, message, train.x, train.y)


def reply_shapes(algorithm: Algorithm, task: Task, message: Message, x: Leaf, y: Leaf) -> Reply:
    """The shapes of a reply to a message, by a client whose rows look like these, however many they are."""
    leaves, tree = jax.tree.flatten(message)
    sent = tuple(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves)
    row, target = (jax.ShapeDtypeStruct((1, *rows.shape[1:]), rows.dtype) for rows in (x, y))
    return tell_rates(algorithm, lambda a, rates: _trace_client(a, len(rates), task, tree, sent, row, target))


@lru_cache(maxsize=KEPT)
def _trace_client(
    template: Algorithm,
    rates: int,
    task: Task,
    tree: jax.tree_util.PyTreeDef,
    sent: tuple[jax.ShapeDtypeStruct, ...],
    x: Leaf,
    y: Leaf,
) -> Reply:
    message, data = jax.tree.unflatten(tree, sent), client_shapes(x, y)

    def first(told: Rates, message: Message) -> Memory:
        algorithm: Algorithm = fill_rates(template, told)
        return algorithm.init_client(task, message, jax.random.key(0))

    def work(told: Rates, message: Message, memory: Memory, data: ClientData) -> Reply:
        algorithm: Algorithm = fill_rates(template, told)
        return algorithm.client(task, message, memory, data, data.key)

    some = (1.0,) * rates
    memory = jax.eval_shape(first, some, message)
    reply = jax.eval_shape(work, some, message, memory, data)
    check_reply(template, reply)
    if shapes(reply.memory) != shapes(memory):
        raise ConfigError(
            f"{type(template).__name__}.client returns a memory that differs in shape from init_client's."
        )
    return reply


def client_shapes(x: Leaf, y: Leaf) -> ClientData:
    """The shapes of a client's data, whose rows look like these, for tracing."""
    x, y = (jax.ShapeDtypeStruct((1, *rows.shape[1:]), rows.dtype) for rows in (x, y))
    number: Leaf = jax.ShapeDtypeStruct((), jnp.int32)
    return ClientData(
        x=x,
        y=y,
        weights=None,
        own_weights=None,
        start=number,
        size=number,
        steps=number,
        positions=jax.ShapeDtypeStruct((1, 1), jnp.int32),  # type: ignore[arg-type]
        round=number,
        key=jax.eval_shape(lambda: jax.random.key(0)),
        capacity=1,
        client=number,
    )
