"""How well does each client do?

A model that everyone shares is evaluated in one flat pass over all rows, and a sum per client. Where
clients predict with something of their own, each is visited: its predictor is made, then its rows are
walked through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding

from ...algorithms import Algorithm
from ...core.pixels import as_floats
from ...core.pytrees import Tree
from ...data.federation import Split
from ...models import Task
from ...typing import Array, ClientIds, Float64s, Int64s
from ..base import Setting
from ..programs import cached_program
from .batches import rounded_up
from .devices import everywhere
from .program import PER_DEVICE, REPLICATED
from .rows import whole

BLOCK = 256
"""Rows evaluated at a time on each core."""

Means = dict[str, Float64s]


class Judged(NamedTuple):
    """Rows to evaluate a shared model on, cut into pieces and already spread over the devices."""

    pieces: list[tuple[Any, Any, int]]
    """Inputs, labels and how many of the rows are real."""
    sizes: Int64s


def judged_rows(split: Split, clients: ClientIds, mesh: Mesh) -> Judged:
    """The rows of these clients in pieces of about 256 MiB, padded to whole blocks."""
    chosen = whole(split, clients)
    at_once = max(BLOCK, (256 << 20) // max(1, split.x[:1].nbytes))
    place = NamedSharding(mesh, PER_DEVICE)
    pieces = []
    for first in range(0, len(chosen.rows), at_once):
        rows = chosen.rows[first : first + at_once]
        blocks = rounded_up(-(-len(rows) // (BLOCK * mesh.size))) * mesh.size
        index = np.pad(rows, (0, blocks * BLOCK - len(rows)), mode="edge")
        pieces.append((*jax.device_put((split.x[index], split.y[index]), place), len(rows)))
    return Judged(pieces, np.diff(chosen.offsets))


def evaluate_shared(setting: Setting, mesh: Mesh, message: Tree, judged: Judged) -> Means:
    """Metrics of one model on the rows of some clients."""
    program = shared_program(setting.algorithm, setting.task, mesh)
    message = jax.device_put(message, everywhere(mesh))
    values = [{k: np.asarray(v)[:n] for k, v in program(message, x, y).items()} for x, y, n in judged.pieces]
    return _per_client(values, judged.sizes, setting.task)


@cached_program
def shared_program(algorithm: Algorithm, task: Task, mesh: Mesh) -> Callable[..., Any]:
    """Compile `(message, x, y) -> {metric: one number per row}`, rows spread over devices."""

    def walk(message: Tree, x: jax.Array, y: jax.Array) -> dict[str, jax.Array]:
        blocks = jax.tree.map(lambda a: a.reshape(-1, BLOCK, *a.shape[1:]), (x, y))
        predictor = algorithm.predictor(task, message, {}, None, None)  # type: ignore[arg-type]

        def measure(block: tuple[jax.Array, jax.Array]) -> dict[str, jax.Array]:
            return task.measure(algorithm.predict(task, predictor, as_floats(block[0])), block[1])

        values = lax.map(measure, blocks)
        return jax.tree.map(lambda v: v.reshape(-1), values)

    return jax.jit(
        jax.shard_map(
            walk,
            mesh=mesh,
            in_specs=(REPLICATED, PER_DEVICE, PER_DEVICE),
            out_specs=PER_DEVICE,
            check_vma=False,
        )
    )


def _per_client(values: list[dict[str, Array]], sizes: Int64s, task: Task) -> Means:
    owners = np.repeat(np.arange(len(sizes)), sizes)
    answer: Means = {"samples": sizes.astype(np.float64)}
    for name in ("loss", *task.metrics):
        rows = np.concatenate([piece[name] for piece in values]) if values else np.zeros(0)
        # Each client's sum by itself, so that one client's infinite loss stays its own.
        totals = np.bincount(owners, weights=rows, minlength=len(sizes))
        answer[name] = np.divide(totals, sizes, out=np.full(len(sizes), np.nan), where=sizes > 0)
    return answer


def unmeasured(clients: int, task: Task) -> Means:
    """The answer where nobody has a row."""
    return {
        "samples": np.zeros(clients),
        **{name: np.full(clients, np.nan) for name in ("loss", *task.metrics)},
    }
