"""Strong connectivity: does every silo's model reach every other silo?

It does if the digraph of messages is strongly connected: from the first silo every other one can be reached,
and from every other one the first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from ..errors import ConfigError
from .graphs import Graph


def is_strong(arcs: Graph) -> bool:
    """Whether a digraph (senders by receivers) is strongly connected.

    >>> is_strong(np.array([[0, 1], [1, 0]], bool)), is_strong(np.array([[0, 1], [0, 0]], bool))
    (True, False)
    """
    return len(arcs) == 1 or bool(strong_parts(arcs).max() == 0)


def strong_parts(arcs: Graph) -> np.ndarray:
    """The number of the strongly connected part that each silo is in."""
    return np.asarray(
        scipy.sparse.csgraph.connected_components(
            scipy.sparse.csr_array(arcs), directed=True, connection="strong"
        )[1]
    )


def reachable_silos(arcs: Graph, start: int = 0) -> np.ndarray:
    """Which silos messages from `start` get to."""
    seen = np.arange(len(arcs)) == start
    fresh = seen
    while fresh.any():
        fresh = arcs[fresh].any(axis=0) & ~seen
        seen = seen | fresh
    return seen


def check_strong(arcs: Graph, names: Sequence[str], what: str) -> None:
    """A `ConfigError` that names a silo that does not hear, or is not heard by, the first one."""
    if is_strong(arcs):
        return
    first, parts = names[0], strong_parts(arcs).max() + 1
    for table, words in ((arcs, "cannot be reached from"), (arcs.T, "cannot reach")):
        seen = reachable_silos(table)
        if not seen.all():
            lost = names[int(np.argmin(seen))]
            raise ConfigError(
                f"{what} is not strongly connected, it has {parts} parts: silo {lost!r} {words} {first!r}."
            )
