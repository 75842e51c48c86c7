"""A bitonic sorting network over rows, for short, wide matrices.

    log2(n) (log2(n) + 1) / 2 passes, each a minimum and a maximum of whole halves of the matrix

K. E. Batcher, "Sorting networks and their applications", 1968. A step has few uploads of many parameters;
comparing whole rows uses the processor's vectors, where sorting each column by itself does not.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp


def sort_columns(rows: jax.Array) -> jax.Array:
    """Each column in ascending order; entries must not be NaN.

    >>> sort_columns(jnp.array([[3.0, 1.0], [1.0, 5.0], [2.0, 0.0]])).tolist()
    [[1.0, 0.0], [2.0, 1.0], [3.0, 5.0]]
    """
    count = len(rows)
    size = 1 << (count - 1).bit_length()
    ordered = jnp.pad(rows, ((0, size - count), (0, 0)), constant_values=jnp.inf)
    block = 2
    while block <= size:
        ordered = _compare(ordered, block, mirrored=True)
        inner = block // 2
        while inner >= 2:
            ordered = _compare(ordered, inner, mirrored=False)
            inner //= 2
        block *= 2
    return ordered[:count]


def _compare(rows: jax.Array, block: int, mirrored: bool) -> jax.Array:
    """In every block of so many rows, the first half takes the smaller entries of the pairs; row i is paired
    with the row half a block later or, `mirrored`, with the i-th from the block's end."""
    halves = rows.reshape(-1, 2, block // 2, rows.shape[1])
    first, second = halves[:, 0], halves[:, 1]
    second = second[:, ::-1] if mirrored else second
    low, high = jnp.minimum(first, second), jnp.maximum(first, second)
    return jnp.stack([low, high[:, ::-1] if mirrored else high], axis=1).reshape(rows.shape)
