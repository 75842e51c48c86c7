"""Client data: a client's view of its rows while it works.

A :class:`ClientData` shows one client's rows, in two ways: as the mini-batches that were planned for this
round (:meth:`ClientData.fold`), and as a pass over all rows (:meth:`ClientData.fold_rows`,
:meth:`ClientData.all_rows`). It is ordinary JAX code: loops run inside the compiled program, with exactly
as many turns as the client has batches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from ...core.pixels import as_floats
from ...models import Batch

Carry = TypeVar("Carry")
BLOCK = 256
"""Rows looked at together where order does not matter."""


@partial(
    jax.tree_util.register_dataclass,
    data_fields=[
        "x",
        "y",
        "weights",
        "own_weights",
        "start",
        "size",
        "steps",
        "positions",
        "round",
        "key",
        "client",
        "held",
    ],
    meta_fields=["capacity"],
)
@dataclass(frozen=True)
class ClientData:
    """One client's rows in this round.

    `x`, `y` and `weights` hold the rows of many clients; this one's are `start ... start + size - 1`, or,
    where they are not next to each other, the first `size` of `held`, to which `weights` then belong.
    `positions[s, b]` is the row (counted from `start`) of sample b in mini-batch s, or -1 for padding. Use
    the methods: they cannot reach another client's rows.
    """

    x: jax.Array
    y: jax.Array
    weights: jax.Array | None
    own_weights: jax.Array | None
    start: jax.Array
    size: jax.Array
    steps: jax.Array
    positions: jax.Array
    round: jax.Array
    key: jax.Array
    capacity: int
    """The largest number of rows that any client has; :meth:`all_rows` and :meth:`weighted` are padded to
    it."""
    client: jax.Array | int = 0
    """This client's number in the federation."""
    held: jax.Array | None = None
    """The rows that this client holds, by their numbers in `x`."""

    def fold(self, step: Callable[[Carry, Batch], Carry], carry: Carry) -> Carry:
        """Apply `step` to each planned mini-batch in turn."""
        # Row numbers and weights of all mini-batches at once: inside the loop only the samples are fetched.
        rows, weights, sizes = self._look_up(self.positions)

        def turn(s: jax.Array, c: Carry) -> Carry:
            key = jax.random.fold_in(self.key, s)
            return step(c, Batch(as_floats(self.x[rows[s]]), self.y[rows[s]], weights[s], sizes[s], key))

        return lax.fori_loop(0, self.steps, turn, carry)

    def batch(self, s: Any) -> Batch:
        """Mini-batch number `s` of this round."""
        return self._take(self.positions[s])._replace(key=jax.random.fold_in(self.key, s))

    def fold_rows(
        self, step: Callable[[Carry, Batch], Carry], carry: Carry, width: int | None = None
    ) -> Carry:
        """Apply `step` to all rows, in blocks of so many (of the mini-batch size by default), each row once
        and in order."""
        width = self.positions.shape[-1] if width is None else min(width, self.capacity)

        def block(j: jax.Array, c: Carry) -> Carry:
            return step(c, self._take(self._block(j * width, width)))

        return lax.fori_loop(0, -(-self.size // width), block, carry)

    def rows_at(self, positions: jax.Array) -> Batch:
        """The rows at these places, counted from this client's first; -1 for padding."""
        return self._take(positions)

    def all_rows(self) -> Batch:
        """All rows as one batch, padded to `capacity`: for closed forms and for one value per row."""
        return self._take(self._block(0, self.capacity))

    def row_weights(self) -> jax.Array:
        """The weight of every row, up to `capacity`; zero past the client's last row."""
        return self._look_up(self._block(0, self.capacity))[1]

    def per_row(self, function: Callable[[jax.Array, jax.Array], jax.Array]) -> jax.Array:
        """`function(x, y)` of every row, a block at a time; padded with zeros to `capacity`."""
        width = min(max(self.positions.shape[-1], BLOCK), self.capacity)
        blocks = -(-self.capacity // width)
        shape = jax.eval_shape(lambda: function(*self._rows(0, width)))
        values = jnp.zeros((blocks * width, *shape.shape[1:]), shape.dtype)

        def block(j: jax.Array, values: jax.Array) -> jax.Array:
            return lax.dynamic_update_slice_in_dim(
                values, function(*self._rows(j * width, width)), j * width, 0
            )

        values = lax.fori_loop(0, -(-self.size // width), block, values)[: self.capacity]
        real = jnp.arange(self.capacity) < self.size
        return jnp.where(real.reshape(-1, *(1,) * (values.ndim - 1)), values, 0)

    def anew(self) -> ClientData:
        """The same rows in round 0: who joins late begins its schedule, not that of the others."""
        return replace(self, round=jnp.zeros_like(self.round))

    def weighted(self, own_weights: jax.Array) -> ClientData:
        """The same rows with other weights: `own_weights[p]` for this client's row p, a number or one for
        each of several losses."""
        return replace(self, own_weights=own_weights)

    def _rows(self, first: Any, width: int) -> tuple[jax.Array, jax.Array]:
        batch = self._take(self._block(first, width))
        return batch.x, batch.y

    def _block(self, first: Any, width: int) -> jax.Array:
        positions = first + jnp.arange(width, dtype=jnp.int32)
        return jnp.where(positions < self.size, positions, -1)

    def _take(self, positions: jax.Array) -> Batch:
        rows, weights, size = self._look_up(positions)
        return Batch(as_floats(self.x[rows]), self.y[rows], weights, size)

    def _look_up(self, positions: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Row numbers, weights (0 for padding) and, along the last axis, the number of real rows."""
        real = positions >= 0
        place = jnp.where(real, positions, 0)
        rows = self.start + place if self.held is None else self.held[place]
        weights = real.astype(jnp.float32)
        if self.own_weights is not None:
            chosen = self.own_weights[place]
            weights = weights.reshape(*weights.shape, *(1,) * (chosen.ndim - weights.ndim)) * chosen
        elif self.weights is not None:
            weights = weights * self.weights[rows if self.held is None else place]
        return rows, weights, jnp.sum(real, axis=-1, dtype=jnp.float32)
