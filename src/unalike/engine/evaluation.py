"""How well does each client do?

A model that everyone shares is evaluated in one flat pass over all rows, and a sum per client. Where
clients predict with something of their own, each is visited: its predictor is made, then its rows are
walked through.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from numpy.typing import NDArray

from .. import trees
from ..algorithms import Algorithm
from ..data.federation import Split
from ..models import Task
from ..trees import Tree
from .base import Setting
from .batches import plan_batches, rounded_up
from .devices import everywhere
from .layout import deal
from .memories import Memories
from .program import ALL, HERE, Plan, Rows, client_data, recall
from .rows import Gathered, whole

if TYPE_CHECKING:
    from .local import LocalEngine

BLOCK = 256
"""Rows evaluated at a time on each core."""
VISITED = 512
"""Clients evaluated at a time where each has a predictor of its own."""

Means = dict[str, NDArray[np.float64]]


def evaluate_shared(
    setting: Setting, mesh: Mesh, message: Tree, split_name: str, clients: NDArray[np.int64]
) -> Means:
    """Metrics of one model on the rows of these clients."""
    split = getattr(setting.federation, split_name)
    chosen = whole(split, clients)
    program = shared_program(setting.algorithm, setting.task, mesh)
    message = jax.device_put(message, everywhere(mesh))
    sums: list[dict[str, NDArray[Any]]] = []
    for rows in np.array_split(chosen.rows, max(1, -(-len(chosen.rows) // _piece(split)))):
        length = rounded_up(-(-len(rows) // (BLOCK * mesh.size))) * BLOCK * mesh.size
        index = np.pad(rows, (0, length - len(rows)), mode="edge") if len(rows) else np.zeros(0, np.int64)
        if len(rows):
            values = program(message, split.x[index], split.y[index])
            sums.append({name: np.asarray(v)[: len(rows)] for name, v in values.items()})
    return _per_client(sums, np.diff(chosen.offsets), setting.task)


def _piece(split: Split) -> int:
    """How many rows are handed to the devices at a time: about 256 MiB."""
    return max(BLOCK, (256 << 20) // max(1, split.x[:1].nbytes))


@lru_cache(maxsize=16)
def shared_program(algorithm: Algorithm, task: Task, mesh: Mesh) -> Callable[..., Any]:
    """Compile `(message, x, y) -> {metric: one number per row}`, rows spread over devices."""

    def walk(message: Tree, x: jax.Array, y: jax.Array) -> dict[str, jax.Array]:
        cut = jax.tree.map(lambda a: a.reshape(-1, BLOCK, *a.shape[1:]), (x, y))
        predictor = algorithm.predictor(task, message, {}, None, None)  # type: ignore[arg-type]
        values = lax.map(lambda b: task.measure(algorithm.predict(task, predictor, b[0]), b[1]), cut)
        return jax.tree.map(lambda v: v.reshape(-1), values)

    return jax.jit(
        jax.shard_map(walk, mesh=mesh, in_specs=(ALL, HERE, HERE), out_specs=HERE, check_vma=False)
    )


def _per_client(sums: list[dict[str, NDArray[Any]]], sizes: NDArray[np.int64], task: Task) -> Means:
    answer: Means = {"samples": sizes.astype(np.float64)}
    starts = np.cumsum(sizes) - sizes
    for name in ("loss", *task.metrics):
        values = np.concatenate([s[name] for s in sums]) if sums else np.zeros(0)
        running = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
        totals = running[starts + sizes] - running[starts]
        answer[name] = np.divide(totals, sizes, out=np.full(len(sizes), np.nan), where=sizes > 0)
    return answer


def evaluate_everyone(
    engine: LocalEngine,
    message: Tree,
    memories: Memories,
    split_name: str,
    round: int,
    clients: NDArray[np.int64],
) -> Means:
    """Metrics of each client's own predictor on its rows, some hundred clients at a time."""
    parts = [
        _evaluate_some(engine, message, memories, split_name, round, clients[i : i + VISITED])
        for i in range(0, len(clients), VISITED)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _evaluate_some(
    engine: LocalEngine,
    message: Tree,
    memories: Memories,
    split_name: str,
    round: int,
    clients: NDArray[np.int64],
) -> Means:
    setting, mesh = engine.setting, engine.mesh
    algorithm, rows = setting.algorithm, engine.sizes[clients]
    split: Split = getattr(setting.federation, split_name)
    capacity = rounded_up(engine.widest)
    batches = plan_batches(algorithm.evaluation_work, rows, clients, round, setting.seed, capacity)
    sizes = split.sizes[clients]
    layout = deal(batches.steps + sizes, mesh.size)
    learn = engine.rows.place(clients, layout)
    judge = Gathered(split, mesh.size).place(clients, layout)
    memory, _ = memories.gather(layout.arrange(clients))
    _, fresh = memories.gather(clients)
    arranged = [layout.arrange(v) for v in (clients, rows, batches.steps, sizes, fresh)]
    numbers = np.stack([arranged[0], learn.start, *arranged[1:3], judge.start, arranged[4]], axis=1).astype(
        np.int32
    )
    plan = Plan(numbers, arranged[3].astype(np.int32), layout.arrange(batches.positions), layout.taken)
    if algorithm.decentralised:
        message = jax.tree.map(lambda leaf: np.asarray(leaf)[layout.arrange(clients)], message)
    program = own_program(algorithm, setting.task, mesh, engine.rows.gathered, capacity)
    totals = program(
        message if algorithm.decentralised else jax.device_put(message, everywhere(mesh)),
        Rows(learn.x, learn.y, learn.weights),
        Rows(judge.x, judge.y, None),
        plan,
        memory,
        np.int32(round),
        engine.key,
    )
    means = {
        n: layout.collect(np.asarray(v)).astype(np.float64) / np.where(sizes > 0, sizes, np.nan)
        for n, v in totals.items()
    }
    return {"samples": sizes.astype(np.float64), **means}


@lru_cache(maxsize=16)
def own_program(
    algorithm: Algorithm, task: Task, mesh: Mesh, gathered: bool, capacity: int
) -> Callable[..., Any]:
    """Compile the visit to each client: make its predictor, then add up its metrics over its rows."""

    def visit(
        message: Tree, learn: Rows, judge: Rows, plan: Plan, memory: Tree, round: Any, key: Any, i: Any
    ) -> Tree:
        data = client_data(learn, plan, i, round, key, capacity)
        told = trees.row(message, i) if algorithm.decentralised else message
        own = recall(algorithm, task, told, trees.row(memory, i), plan.numbers[i, 5] > 0, data.key)
        predictor = algorithm.predictor(task, told, own, data, data.key)
        start, size = plan.numbers[i, 4], plan.weights[i]
        width = min(BLOCK, judge.x.shape[0])

        def measure(block: Any) -> dict[str, jax.Array]:
            place = block * width + jnp.arange(width)
            rows = jnp.where(place < size, start + place, 0)
            values = task.measure(algorithm.predict(task, predictor, judge.x[rows]), judge.y[rows])
            return jax.tree.map(lambda v: jnp.sum(jnp.where(place < size, v, 0.0)), values)

        zero = jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), jax.eval_shape(measure, 0))
        return lax.fori_loop(0, -(-size // width), lambda b, t: trees.add(t, measure(b)), zero)

    def walk(message: Tree, learn: Rows, judge: Rows, plan: Plan, memory: Tree, round: Any, key: Any) -> Tree:
        go = partial(visit, message, learn, judge, plan, memory, round, key)
        places = plan.numbers.shape[0]
        zero = jax.tree.map(lambda s: jnp.zeros((places, *s.shape), s.dtype), jax.eval_shape(go, 0))
        put = lambda i, t: jax.tree.map(lambda whole, one: whole.at[i].set(one), t, go(i))  # noqa: E731
        return lax.fori_loop(0, plan.taken[0], put, zero)

    told = HERE if algorithm.decentralised else ALL
    specs = (told, HERE if gathered else ALL, HERE, HERE, HERE, ALL, ALL)
    return jax.jit(jax.shard_map(walk, mesh=mesh, in_specs=specs, out_specs=HERE, check_vma=False))
