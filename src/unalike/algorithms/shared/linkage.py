"""Complete-linkage clustering into two clusters.

Agglomerative clustering with complete linkage: two groups are as far apart as their farthest members, and the
nearest two are joined until two are left. Written for compiled programs, with a mask for who takes part.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax


def complete_linkage_halves(distances: jax.Array, member: jax.Array) -> jax.Array:
    """Which members are in the second of the two last groups (the one without the first member).

    >>> apart = jnp.array([[0.0, 9, 1], [9, 0, 8], [1, 8, 0]])
    >>> complete_linkage_halves(apart, jnp.ones(3, bool)).tolist()
    [False, True, False]
    """
    count = len(distances)
    everyone = jnp.arange(count)
    apart = jnp.where(member[:, None] & member[None, :], distances, jnp.inf)
    apart = apart.at[everyone, everyone].set(jnp.inf)

    def join(_: int, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        apart, group = carry
        nearest = jnp.argmin(apart)
        kept, gone = (
            jnp.minimum(nearest // count, nearest % count),
            jnp.maximum(nearest // count, nearest % count),
        )
        farthest = jnp.maximum(apart[kept], apart[gone]).at[kept].set(jnp.inf)
        apart = apart.at[kept].set(farthest).at[:, kept].set(farthest)
        apart = apart.at[gone].set(jnp.inf).at[:, gone].set(jnp.inf)
        return apart, jnp.where(group == gone, kept, group)

    joins = jnp.maximum(member.sum() - 2, 0)
    _, group = lax.fori_loop(0, joins, join, (apart, everyone))
    return member & (group != group[jnp.argmax(member)])
