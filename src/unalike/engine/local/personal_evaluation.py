"""Personalized evaluation: each client with its own predictor.

Each client is visited: its predictor is made from what it was told, remembers and holds, then its rows are
walked through.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh

from ...algorithms import Algorithm, Messages
from ...core import pytrees
from ...core.pixels import as_floats
from ...data.federation import Split
from ...models import Task
from ...models.metrics import divide_sums
from ...typing import ClientIds, Memory, Message, PyTree, Scalar
from ..memories import Memories
from ..traced_rates import Rates, fill_rates, place_rates, rated_program
from .compiled_round import PER_DEVICE, REPLICATED, Samples, client_data, recall
from .devices import everywhere
from .evaluation import BLOCK, Means, empty_means
from .plan import Plan
from .rows import GatheredRows

if TYPE_CHECKING:
    from .engine import LocalEngine

VISITED = 512
"""Clients evaluated at a time."""


def evaluate_everyone(
    engine: LocalEngine,
    messages: Messages,
    memories: Memories,
    split: Split,
    round: int,
    clients: ClientIds,
) -> Means:
    """Metrics of each client's own predictor on its rows, some hundred clients at a time."""
    if not len(split.y):
        return empty_means(len(clients), engine.setting.task, split)
    groups = [clients[i : i + VISITED] for i in range(0, len(clients), VISITED)]
    parts = [_evaluate_some(engine, messages, memories, split, round, group) for group in groups]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _evaluate_some(
    engine: LocalEngine,
    messages: Messages,
    memories: Memories,
    split: Split,
    round: int,
    clients: ClientIds,
) -> Means:
    algorithm, task, mesh = engine.setting.algorithm, engine.setting.task, engine.mesh
    sizes = split.offsets[clients + 1] - split.offsets[clients]
    plan, layout, learn = engine.plan(algorithm.evaluation_work, round, clients, memories, load=sizes)
    judge = GatheredRows(split, mesh.size).place(clients, layout)
    spans = np.stack([judge.start, layout.arrange(sizes)], axis=1).astype(np.int32)
    memory, _ = memories.gather(layout.arrange(clients))
    sent, each = engine.sent(messages.select(clients), layout), messages.per_client
    program = visit_program(algorithm, task, mesh, engine.rows.gathered, engine.capacity, each)
    totals = program(
        sent if each else jax.device_put(sent, everywhere(mesh)),
        Samples(learn.x, learn.y, learn.weights),
        Samples(judge.x, judge.y, None),
        plan,
        spans,
        memory,
        engine.key,
    )
    means = {
        name: divide_sums(layout.collect(np.asarray(total)).astype(np.float64), sizes)
        for name, total in totals.items()
    }
    return {"samples": sizes.astype(np.float64), **means}


@rated_program
def visit_program(
    template: Algorithm, task: Task, mesh: Mesh, gathered: bool, capacity: int, per_client: bool
) -> Callable[..., PyTree]:
    """Compile the visit to each client; the answer has one sum per statistic and place of the layout."""

    def visit(
        algorithm: Algorithm,
        sent: Message,
        learn: Samples,
        judge: Samples,
        plan: Plan,
        spans: jax.Array,
        memory: Memory,
        key: jax.Array,
        i: Scalar,
    ) -> PyTree:
        data = client_data(learn, plan, i, key, capacity)
        message = pytrees.row(sent, i) if per_client else sent
        first = partial(algorithm.newcomer, task, message, data.anew(), data.key)
        own = recall(pytrees.row(memory, i), plan.read("fresh", i) > 0, first)
        predictor = algorithm.predictor(task, message, own, data, data.key)
        return _sum_statistics(
            lambda x, y: task.measure(algorithm.predict(task, predictor, x), y), judge, *spans[i]
        )

    def walk(
        rates: Rates, sent: Message, learn: Samples, judge: Samples, plan: Plan, *rest: PyTree
    ) -> PyTree:
        algorithm: Algorithm = fill_rates(template, rates)
        go: Callable[[Scalar], PyTree] = partial(visit, algorithm, sent, learn, judge, plan, *rest)
        zero = jax.tree.map(lambda s: jnp.zeros((plan.slots, *s.shape), s.dtype), jax.eval_shape(go, 0))

        def step(i: Scalar, totals: PyTree) -> PyTree:
            return jax.tree.map(lambda whole, one: whole.at[i].set(one), totals, go(i))

        return lax.fori_loop(0, plan.read("taken", 0), step, zero)

    sent_to, learn = (PER_DEVICE if there else REPLICATED for there in (per_client, gathered))
    given = (REPLICATED, sent_to, learn, PER_DEVICE, PER_DEVICE, PER_DEVICE, PER_DEVICE, REPLICATED)
    sharded = jax.shard_map(walk, mesh=mesh, in_specs=given, out_specs=PER_DEVICE, check_vma=False)
    program, where = jax.jit(sharded), everywhere(mesh)
    return lambda rates, *arguments: program(place_rates(rates, where), *arguments)


def _sum_statistics(
    measure: Callable[..., dict[str, jax.Array]], rows: Samples, start: jax.Array, size: jax.Array
) -> PyTree:
    """The sum of each statistic over rows `start ... start + size - 1`, a block at a time."""
    width = min(BLOCK, rows.x.shape[0])

    def block(number: Scalar) -> dict[str, jax.Array]:
        place = number * width + jnp.arange(width)
        real = place < size
        at = jnp.where(real, start + place, 0)
        values = measure(as_floats(rows.x[at]), rows.y[at])
        return {name: jnp.sum(jnp.where(_along(real, v), v, 0.0), axis=0) for name, v in values.items()}

    zero = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), jax.eval_shape(block, 0))
    return lax.fori_loop(0, -(-size // width), lambda b, total: pytrees.add(total, block(b)), zero)


def _along(rows: jax.Array, values: jax.Array) -> jax.Array:
    """One entry per row, so that it can be combined with whatever each row has."""
    return rows.reshape(-1, *(1,) * (values.ndim - 1))
