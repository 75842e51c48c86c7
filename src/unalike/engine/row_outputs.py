"""Per-row outputs of each client's predictor.

Engines sum over a client's rows where they are, which is all that training needs; who audits a model looks at
rows one by one. One flat pass for a model that all share; a visit to each client where predictors differ.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..algorithms import Algorithm, ClientData, Messages
from ..core.pixels import as_floats
from ..models import Task
from ..typing import Array, Int64s, Memory, Message, Params, Predictor, PyTree
from .base import Setting
from .debug import DebugEngine
from .memories import Memories

BLOCK = 512
"""Rows looked at together; fewer are padded, so that little is compiled."""


def row_outputs(
    setting: Setting, messages: Messages, memories: Memories, x: Array, owners: Int64s, round: int
) -> Array:
    """The outputs for every row, by the predictor of the client that owns it."""
    algorithm, task = setting.algorithm, setting.task
    if not (algorithm.personalized or messages.per_client):
        return predictor_outputs(algorithm, task, shared_predictor(algorithm, task, messages.tree), x)
    answer = None
    for client in np.unique(owners).tolist():
        rows = np.flatnonzero(owners == client)
        own = client_predictor(setting, messages, memories, client, round)
        found = predictor_outputs(algorithm, task, own, x[rows])
        answer = np.zeros((len(x), *found.shape[1:]), found.dtype) if answer is None else answer
        answer[rows] = found
    return np.zeros((0, 1)) if answer is None else answer


def client_predictor(
    setting: Setting, messages: Messages, memories: Memories, client: int, round: int
) -> Predictor:
    """What a client predicts with after so many rounds; one that never took part makes itself a memory."""
    algorithm = setting.algorithm
    data = DebugEngine(setting).client_data(round, client, algorithm.evaluation_work)
    memory, fresh = memories.gather(np.array([client]))
    own = jax.tree.map(lambda leaf: leaf[0], memory)
    newcomer = bool(memories) and bool(fresh[0])
    message = jax.tree.map(jnp.asarray, messages.of(client))
    return _predictor(algorithm, setting.task, newcomer, message, own, data)


def shared_predictor(algorithm: Algorithm, task: Task, message: Message) -> Predictor:
    """What everyone predicts with, for methods with one model for all."""
    nobody: PyTree = None
    return algorithm.predictor(task, message, Memory({}), nobody, nobody)


def predictor_outputs(algorithm: Algorithm, task: Task, predictor: Predictor, x: Array) -> Array:
    """The outputs of a predictor for every row."""
    return _in_blocks(partial(_predict, algorithm, task, predictor), x)


@partial(jax.jit, static_argnums=(0, 1))
def _predict(algorithm: Algorithm, task: Task, predictor: Predictor, x: jax.Array) -> jax.Array:
    return algorithm.predict(task, predictor, as_floats(x))


@partial(jax.jit, static_argnums=(0, 1, 2))
def _predictor(
    algorithm: Algorithm, task: Task, newcomer: bool, message: Message, memory: Memory, data: ClientData
) -> Predictor:
    own = algorithm.newcomer(task, message, data.anew(), data.key) if newcomer else memory
    return algorithm.predictor(task, message, own, data, data.key)


def model_outputs(task: Task, params: Params, x: Array) -> Array:
    """The outputs of one model for every row."""
    return _in_blocks(partial(_apply, task, params), x)


@partial(jax.jit, static_argnums=0)
def _apply(task: Task, params: Params, x: jax.Array) -> jax.Array:
    return task.apply(params, x)


def _in_blocks(predict: Callable[[Array], jax.Array], x: Array) -> Array:
    """Outputs of all rows, a block at a time."""
    parts = []
    for start in range(0, max(len(x), 1), BLOCK):
        block = x[start : start + BLOCK]
        padded = np.concatenate([block, np.zeros((BLOCK - len(block), *x.shape[1:]), x.dtype)])
        parts.append(np.asarray(predict(padded))[: len(block)])
    return np.concatenate(parts)
