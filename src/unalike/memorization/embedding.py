"""Embeddings of all clients' rows: features of a global model.

One flat pass over the rows of all clients, in blocks, gives both what the model predicts and the
representation it predicts from (`Model.features`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from ..core.pixels import as_floats
from ..data.federation import Split
from ..errors import ConfigError
from ..models import Task
from ..models.metrics import finish_means, mean_by_client
from ..typing import Array, Float32s, Float64s, Int64s, Params, PyTree
from .knn_voting import outputs, predictions

Features = Callable[[PyTree, jax.Array], jax.Array]
BLOCK = 1024
"""Rows computed at a time, so that every pass uses the same compiled program."""


class Embedded(NamedTuple):
    """Rows of clients as a model sees them, one client after the other."""

    keys: Float32s
    common: Float32s
    """What the global model predicts (probabilities, or targets of a regression)."""
    labels: Array
    offsets: Int64s

    def client(self, i: int) -> Embedded:
        """The rows of one client."""
        rows = slice(self.offsets[i], self.offsets[i + 1])
        return self.take(np.arange(rows.start, rows.stop))

    def take(self, rows: Int64s) -> Embedded:
        """Some rows, as those of one client."""
        ends = np.array([0, len(rows)])
        return Embedded(self.keys[rows], self.common[rows], self.labels[rows], ends)


def representation(task: Task, features: Features | None = None) -> Features:
    """The function that makes keys: one given, or the model's own; a model without one is an error."""
    found = features or task.model.features
    if found is None:
        raise ConfigError(
            "memorization needs a model with a representation, but this one has no `features` function."
        )
    return found


@lru_cache(maxsize=16)
def _program(task: Task, features: Features) -> Callable[[PyTree, Any], tuple[jax.Array, jax.Array]]:
    # Compiled together, the layers that outputs and features share are computed once.
    def both(params: Params, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        said = predictions(task, task.apply(params, x))
        return said, features(params, as_floats(x)).reshape(len(x), -1).astype("float32")

    return jax.jit(both)


def embed(
    task: Task, params: Params, x: Array, features: Features | None = None
) -> tuple[Float32s, Float32s]:
    """The keys and the global model's predictions of some rows."""
    program = _program(task, representation(task, features))
    parts = []
    for first in range(0, max(len(x), 1), BLOCK):
        block = x[first : first + BLOCK]
        padded = np.concatenate([block, np.zeros((BLOCK - len(block), *x.shape[1:]), x.dtype)])
        said, keys = program(params, padded)
        parts.append((np.asarray(keys)[: len(block)], np.asarray(said)[: len(block)]))
    return np.concatenate([keys for keys, _ in parts]), np.concatenate([said for _, said in parts])


def embed_split(task: Task, params: Params, split: Split, features: Features | None = None) -> Embedded:
    """All clients' rows of a split."""
    keys, said = embed(task, params, split.x, features)
    return Embedded(keys, said, split.y, split.offsets)


@lru_cache(maxsize=16)
def _judge(task: Task) -> Callable[[Any, Any], dict[str, jax.Array]]:
    return jax.jit(lambda said, y: task.measure(outputs(task, said), y))


def measure(task: Task, said: Float32s, split: Embedded) -> dict[str, Float64s]:
    """Mean loss and metrics of each client for given predictions of all rows; NaN where it has none."""
    sizes = np.diff(split.offsets)
    values = _judge(task)(*_pad(said, split.labels)) if len(said) else {}
    rows = {name: np.asarray(value)[: len(said)] for name, value in values.items()}
    means = {name: mean_by_client(rows.get(name, np.zeros(0)), sizes) for name in ("loss", *task.statistics)}
    return finish_means({"samples": sizes.astype(np.float64), **means}, task.metrics)


def _pad(said: Float32s, labels: Array) -> tuple[Array, Array]:
    """Both rounded up to whole blocks, so that few shapes are compiled."""
    extra = -len(said) % BLOCK
    return tuple(np.concatenate([a, np.repeat(a[-1:], extra, axis=0)]) for a in (said, labels))  # type: ignore[return-value]
