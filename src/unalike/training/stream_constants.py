"""Measuring the constants of a stream's error bound by first local steps.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023): every client with historical data
takes a part of its rows and makes a few steps from the first model,

    D = max_m ||theta_m - theta||,     G = max_m max_k ||gradient||,     B = max_m mean loss at theta.

Three numbers per client leave it. How many steps, how long and on how many rows is not published.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from ..core.random import generator
from ..data import Federation, MemoryStream, Stream
from ..data.streams.bound_constants import Constants, LocalReport
from ..data.streams.target_importance import Tradeoff
from ..errors import ConfigError
from ..models import Batch, Task
from ..typing import Array, Params

Step = Callable[[Params, Batch], tuple[Params, jax.Array]]


@dataclass(frozen=True, kw_only=True)
class FirstSteps:
    """What clients do before the first round."""

    steps: int = 10
    learning_rate: float = 0.1
    batch_size: int = 32
    part: float = 0.5
    """The part of a client's rows that it uses."""
    most_rows: int | None = None
    """And no more rows than these: what a client holds at a time, where no rows stay."""

    def __post_init__(self) -> None:
        counts = (self.steps, self.batch_size, 1 if self.most_rows is None else self.most_rows)
        if min(counts) < 1 or not self.learning_rate > 0 or not 0 < self.part <= 1:
            raise ConfigError(
                "first steps need at least one step and row, a learning rate, and a part of the rows."
            )


def measure_constants(
    federation: Federation,
    task: Task,
    historical: ArrayLike,
    first: FirstSteps | None = None,
    seed: int = 0,
    rows: int | None = None,
) -> Constants:
    """D, G and B of the clients in `historical` that have rows; N are `rows`, those that arrive in the run,
    or all training rows of the federation where that is not known."""
    first = first or FirstSteps()
    params = task.init(jax.random.key(seed))
    step = jax.jit(lambda now, batch: _step(task, now, batch, first.learning_rate))
    reports = [
        _report(federation, task, params, step, int(client), first, seed)
        for client in np.asarray(historical, np.int64)
        if federation.train.sizes[client] > 0
    ]
    parameters = sum(int(np.size(leaf)) for leaf in jax.tree.leaves(params))
    return Constants.from_reports(reports, parameters, rows or int(federation.train.sizes.sum()))


def measure_tradeoff(
    stream: Stream, federation: Federation, task: Task, seed: int, steps: int | None = None
) -> Tradeoff:
    """What the constants of a stream's clients come to, from their first local steps; c2/c1 is infinite where
    nobody receives rows while training.

    Args:
        stream: says who is fresh.
        federation: the clients.
        task: the model and its loss.
        seed: of the first model and the steps.
        steps: how many time steps there will be, if that is known.
    """
    assert isinstance(stream, MemoryStream)
    stream.arrivals.begin(federation.train.sizes, seed)
    kept = np.flatnonzero(stream.arrivals.historical)
    fresh = len(federation) - len(kept)
    if not fresh:
        return Tradeoff(math.inf)
    first = FirstSteps(most_rows=None if len(kept) else stream.memory.capacity)
    willing = kept if len(kept) else np.arange(len(federation))
    rows = int(stream.arrivals.arrived(steps - 1).sum()) if steps else None
    return measure_constants(federation, task, willing, first, seed, rows).tradeoff(fresh)


def _step(task: Task, params: Params, batch: Batch, rate: float) -> tuple[Params, jax.Array]:
    _, gradient = task.loss_and_gradient(params, batch)
    return jax.tree.map(lambda p, g: p - rate * g, params, gradient), _norm(gradient)


def _report(
    federation: Federation,
    task: Task,
    params: Params,
    step: Step,
    client: int,
    first: FirstSteps,
    seed: int,
) -> LocalReport:
    x, y = federation.train.client(client)
    count = max(1, min(int(first.part * len(y)), first.most_rows or len(y)))
    x, y = np.asarray(x[:count]), np.asarray(y[:count])
    loss = float(np.mean(np.asarray(task.losses(params, jnp.asarray(x), jnp.asarray(y)))))
    rng, now, largest = generator(seed, "first steps", client), params, 0.0
    for _ in range(first.steps):
        rows = rng.permutation(count)[: first.batch_size]
        now, norm = step(now, _pad_batch(x[rows], y[rows], first.batch_size))
        largest = max(largest, float(norm))
    moved = float(_norm(jax.tree.map(jnp.subtract, now, params)))
    return LocalReport(moved, largest, loss)


def _pad_batch(x: Array, y: Array, rows: int) -> Batch:
    """A batch of so many rows, of which the last ones may be empty, so that all clients compile once."""
    real = len(y)
    fill = rows - real
    x, y = (np.concatenate([part, np.zeros((fill, *part.shape[1:]), part.dtype)]) for part in (x, y))
    weight = np.arange(rows) < real
    return Batch(
        jnp.asarray(x), jnp.asarray(y), jnp.asarray(weight, jnp.float32), jnp.asarray(real, jnp.float32)
    )


def _norm(tree: Params) -> jax.Array:
    return jnp.sqrt(sum((jnp.vdot(leaf, leaf) for leaf in jax.tree.leaves(tree)), jnp.asarray(0.0)))
