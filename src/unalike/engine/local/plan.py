"""What does every place of the layout have to do in a round?  (The plan of a round.)

The host writes a round's plan into two integer arrays, so that one hand-over is enough; the compiled
program reads it by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...typing import Array, Float64s, Int64s
from .batches import Batches
from .layout import Layout

INT_COLUMNS = ("client", "start", "size", "steps", "job", "fresh", "taken", "round")
"""Whole numbers of each place; `taken` (places in use on this device) is the same for all of a device's
places."""
FLOAT_COLUMNS = ("weight", "importance")
"""Real numbers of each place, kept bit by bit among the whole ones."""
_COLUMN = {name: column for column, name in enumerate(INT_COLUMNS + FLOAT_COLUMNS)}


class Plan(NamedTuple):
    """The columns of each place, and `positions[place, step, sample]` (see :class:`Batches`)."""

    numbers: Any
    positions: Any

    @property
    def slots(self) -> int:
        """How many places there are."""
        return self.numbers.shape[0]

    def read(self, name: str, i: Any) -> jax.Array:
        """A number of the place `i`."""
        number = self.numbers[i, _COLUMN[name]]
        return lax.bitcast_convert_type(number, jnp.float32) if name in FLOAT_COLUMNS else number


def write_plan(
    layout: Layout,
    batches: Batches,
    rounds: int | Int64s,
    weights: Float64s,
    importance: Float64s,
    **whole: Array,
) -> Plan:
    """The plan of a cohort, in the order of the layout; `start` is in that order already."""
    slots = len(layout.place)
    numbers = np.empty((slots, len(_COLUMN)), np.int32)
    columns = {"steps": batches.steps, **whole}
    for name, values in columns.items():
        numbers[:, _COLUMN[name]] = values if name == "start" else layout.arrange(values)
    for name, values in (("weight", weights), ("importance", importance)):
        numbers[:, _COLUMN[name]] = layout.arrange(values).astype(np.float32).view(np.int32)
    numbers[:, _COLUMN["taken"]] = np.repeat(layout.taken, slots // len(layout.taken))
    numbers[:, _COLUMN["round"]] = rounds if isinstance(rounds, int) else layout.arrange(rounds)
    return Plan(numbers, layout.arrange(batches.positions))


def stack_plans(plans: Sequence[Plan], rounds: int) -> Plan:
    """The plans of several rounds, of as many slots each, with a leading axis of length `rounds`."""
    tall, slots = max(plan.positions.shape[1] for plan in plans), plans[0].slots
    numbers = np.zeros((rounds, slots, len(_COLUMN)), np.int32)
    positions = np.full((rounds, slots, tall, plans[0].positions.shape[2]), -1, np.int32)
    for k, plan in enumerate(plans):
        numbers[k] = plan.numbers
        positions[k, :, : plan.positions.shape[1]] = plan.positions
    return Plan(numbers, positions)
