"""The plan of a round: clients, rows and weights for every place of the layout.

The host writes a round's plan into a few arrays, so that one hand-over is enough; the compiled program reads
it by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...typing import Array, Float64s, Int64s, Leaf, Scalar
from .batches import Batches
from .layout import Layout
from .rows import PlacedRows

INT_COLUMNS = ("client", "start", "size", "steps", "job", "fresh", "taken", "round")
"""Whole numbers of each place; `taken` (places in use on this device) is the same for all of a device's
places."""
FLOAT_COLUMNS = ("weight", "importance")
"""Real numbers of each place, kept bit by bit among the whole ones."""
_COLUMN = {name: column for column, name in enumerate(INT_COLUMNS + FLOAT_COLUMNS)}


class Plan(NamedTuple):
    """The columns of each place, and `positions[place, step, sample]` (see :class:`Batches`)."""

    numbers: Leaf
    positions: Leaf
    held: Leaf = None
    """`held[place, position]`: the rows of each place's client, where these are not next to each other."""
    row_weights: Leaf = None
    """What each of them weighs; 1 when None."""

    @property
    def slots(self) -> int:
        """How many places there are."""
        return self.numbers.shape[0]

    def read(self, name: str, i: Scalar) -> jax.Array:
        """A number of the place `i`."""
        number = self.numbers[i, _COLUMN[name]]
        return lax.bitcast_convert_type(number, jnp.float32) if name in FLOAT_COLUMNS else number


def write_plan(
    layout: Layout,
    batches: Batches,
    rounds: int | Int64s,
    weights: Float64s,
    importance: Float64s,
    placed: PlacedRows,
    **whole: Array,
) -> Plan:
    """The plan of a cohort, in the order of the layout."""
    slots = len(layout.place)
    numbers = np.empty((slots, len(_COLUMN)), np.int32)
    columns = {"steps": batches.steps, **whole}
    for name, values in columns.items():
        numbers[:, _COLUMN[name]] = layout.arrange(values)
    numbers[:, _COLUMN["start"]] = placed.start
    for name, values in (("weight", weights), ("importance", importance)):
        numbers[:, _COLUMN[name]] = layout.arrange(values).astype(np.float32).view(np.int32)
    numbers[:, _COLUMN["taken"]] = np.repeat(layout.taken, slots // len(layout.taken))
    numbers[:, _COLUMN["round"]] = rounds if isinstance(rounds, int) else layout.arrange(rounds)
    return Plan(numbers, layout.arrange(batches.positions), placed.held, placed.held_weights)


def stack_plans(plans: Sequence[Plan], rounds: int) -> Plan:
    """The plans of several rounds, of as many slots each, with a leading axis of length `rounds`."""
    tall, slots = max(plan.positions.shape[1] for plan in plans), plans[0].slots
    numbers = np.zeros((rounds, slots, len(_COLUMN)), np.int32)
    positions = np.full((rounds, slots, tall, plans[0].positions.shape[2]), -1, np.int32)
    for k, plan in enumerate(plans):
        numbers[k] = plan.numbers
        positions[k, :, : plan.positions.shape[1]] = plan.positions
    held = _stack_rows([plan.held for plan in plans], rounds)
    given = [plan.row_weights for plan in plans]
    if any(one is not None for one in given):  # then rows of the other rounds weigh 1
        given = [
            np.ones(plan.held.shape, np.float32) if plan.row_weights is None else plan.row_weights
            for plan in plans
        ]
    return Plan(numbers, positions, held, _stack_rows(given, rounds))


def _stack_rows(parts: Sequence[Leaf], rounds: int) -> Array | None:
    """What places hold in several rounds, with room for the longest."""
    if parts[0] is None:
        return None
    wide = max(part.shape[1] for part in parts)
    whole = np.zeros((rounds, len(parts[0]), wide), parts[0].dtype)
    for k, part in enumerate(parts):
        whole[k, :, : part.shape[1]] = part
    return whole
