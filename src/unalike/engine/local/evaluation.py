"""Evaluation of a shared model on each client.

A model that everyone shares is evaluated in one flat pass over all rows, and a sum per client. Where
clients predict with something of their own, each is visited: its predictor is made, then its rows are
walked through. Metrics whose statistics are arrays (:mod:`unalike.models.metrics`) are summed on the way:
every device keeps the sums of the clients whose rows it has, which are neighbors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding

from ...algorithms import Algorithm
from ...core.pixels import as_floats
from ...data.federation import Split
from ...models import Task
from ...models.metrics import divide_sums, mean_by_client
from ...typing import Array, ClientIds, Float64s, Int64s, Message, PyTree
from ..base import Setting
from ..traced_rates import Rates, fill_rates, place_rates, rated_program
from .batches import round_up
from .compiled_round import PER_DEVICE, REPLICATED
from .devices import everywhere
from .rows import whole

BLOCK = 256
"""Rows evaluated at a time on each core."""

Means = dict[str, Float64s]


class Piece(NamedTuple):
    """Rows that are evaluated together, spread over the devices in equal parts."""

    x: jax.Array
    y: jax.Array
    owners: jax.Array
    """Whose a row is, counted from the first client of its device; `width` for padding."""
    rows: int
    """How many of the rows are real."""
    first: Int64s
    """The first client of every device."""
    width: int
    """Room for the clients of any device."""


class EvaluationRows(NamedTuple):
    """Rows to evaluate a shared model on, cut into pieces and already spread over the devices."""

    pieces: list[Piece]
    sizes: Int64s
    shapes: tuple[Array, Array]
    """An input and a label, as far as their shapes and types go."""


def place_evaluation_rows(split: Split, clients: ClientIds, mesh: Mesh) -> EvaluationRows:
    """The rows of these clients in pieces of about 256 MiB, padded to whole blocks."""
    chosen = whole(split, clients)
    sizes = np.diff(chosen.offsets)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    at_once = max(BLOCK, (256 << 20) // max(1, split.x[:1].nbytes))
    place = NamedSharding(mesh, PER_DEVICE)
    pieces = []
    for first in range(0, len(chosen.rows), at_once):
        rows = chosen.rows[first : first + at_once]
        blocks = round_up(-(-len(rows) // (BLOCK * mesh.size))) * mesh.size
        spare = (0, blocks * BLOCK - len(rows))
        index = np.pad(rows, spare, mode="edge")
        whose, firsts, width = _by_device(
            np.pad(owners[first : first + at_once], spare, mode="edge"), mesh.size
        )
        whose[len(rows) :] = width
        x, y, placed = jax.device_put((split.x[index], split.y[index], whose), place)
        pieces.append(Piece(x, y, placed, len(rows), firsts, width))
    return EvaluationRows(pieces, sizes, (split.x[:0], split.y[:0]))


def _by_device(owners: Int64s, devices: int) -> tuple[Array, Int64s, int]:
    """Rows' owners counted from the first of each device, those firsts, and room for all of a device's."""
    parts = owners.reshape(devices, -1)
    firsts = parts[:, 0]
    width = round_up(int((parts[:, -1] - firsts).max()) + 1)
    return (parts - firsts[:, None]).astype(np.int32).ravel(), firsts, width


def evaluate_shared(setting: Setting, mesh: Mesh, message: Message, judged: EvaluationRows) -> Means:
    """The loss and the metrics' statistics of one model on the rows of some clients: means per client."""
    task, sizes = setting.task, judged.sizes
    shapes = task.statistic_shapes(*judged.shapes)
    arrays = {name: shape for name, shape in shapes.items() if shape}
    totals = {name: np.zeros((len(sizes), *shape)) for name, shape in arrays.items()}
    rows: dict[str, list[Array]] = {name: [np.zeros(0)] for name in shapes if name not in arrays}
    message = jax.device_put(message, everywhere(mesh))
    for piece in judged.pieces:
        program = shared_program(setting.algorithm, task, mesh, piece.width if arrays else 0)
        numbers, sums = program(message, piece.x, piece.y, piece.owners)
        for name, values in numbers.items():
            rows[name].append(np.asarray(values)[: piece.rows])
        for name, values in sums.items():
            _add(totals[name], np.asarray(values), piece)
    means = {name: mean_by_client(np.concatenate(parts), sizes) for name, parts in rows.items()}
    means |= {name: divide_sums(total, sizes) for name, total in totals.items()}
    return {"samples": sizes.astype(np.float64), **{name: means[name] for name in shapes}}


def _add(totals: Float64s, sums: Array, piece: Piece) -> None:
    """Add every device's sums to those of the clients that they are of."""
    for first, part in zip(piece.first, sums.reshape(-1, piece.width, *sums.shape[1:]), strict=True):
        some = totals[first : first + piece.width]
        some += part[: len(some)]


@rated_program
def shared_program(
    template: Algorithm, task: Task, mesh: Mesh, width: int
) -> Callable[..., tuple[PyTree, PyTree]]:
    """Compile `(message, x, y, owners) -> (numbers per row, sums of arrays per client)`, rows spread over
    devices, each of which has room for the sums of `width` clients."""

    def walk(
        rates: Rates, message: Message, x: jax.Array, y: jax.Array, owners: jax.Array
    ) -> tuple[PyTree, PyTree]:
        algorithm: Algorithm = fill_rates(template, rates)
        blocks = jax.tree.map(lambda a: a.reshape(-1, BLOCK, *a.shape[1:]), (x, y, owners))
        predictor = algorithm.predictor(task, message, {}, None, None)  # type: ignore[arg-type]

        def measure(block: tuple[jax.Array, ...]) -> dict[str, jax.Array]:
            return task.measure(algorithm.predict(task, predictor, as_floats(block[0])), block[1])

        def step(sums: PyTree, block: tuple[jax.Array, ...]) -> tuple[PyTree, PyTree]:
            values = measure(block)
            added = {name: sums[name].at[block[2]].add(values[name], mode="drop") for name in sums}
            return added, {name: value for name, value in values.items() if name not in sums}

        kinds = jax.eval_shape(measure, jax.tree.map(lambda a: a[0], blocks))
        arrays = {name: kind for name, kind in kinds.items() if kind.ndim > 1}
        zero = {name: jnp.zeros((width, *kind.shape[1:]), kind.dtype) for name, kind in arrays.items()}
        sums, values = lax.scan(step, zero, blocks)
        return jax.tree.map(lambda v: v.reshape(-1), values), sums

    given = (REPLICATED, REPLICATED, PER_DEVICE, PER_DEVICE, PER_DEVICE)
    sharded = jax.shard_map(walk, mesh=mesh, in_specs=given, out_specs=PER_DEVICE, check_vma=False)
    program, where = jax.jit(sharded), everywhere(mesh)
    return lambda rates, *arguments: program(place_rates(rates, where), *arguments)


def empty_means(clients: int, task: Task, split: Split) -> Means:
    """The answer where nobody has a row."""
    shapes = task.statistic_shapes(split.x, split.y)
    return {
        "samples": np.zeros(clients),
        **{name: np.full((clients, *shape), np.nan) for name, shape in shapes.items()},
    }
