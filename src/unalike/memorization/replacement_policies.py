"""Replacement policies of a full datastore when new rows arrive.

A policy is a pure function `(store, keys, labels, time) -> store`. The three of Marfoq, Neglia, Kameni,
Vidal, "Personalized Federated Learning through Local Memorization" (2022):

    fifo      append, then let the oldest go: the size stays          recovers fast when data change
    concat    append                                                  best while they do not
    fixed     ignore what arrives
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

from numpy.typing import ArrayLike

from ..core.registry import Registry
from .datastore import Datastore

Policy = Callable[[Datastore, ArrayLike, ArrayLike, int], Datastore]
policy_registry: Registry[Policy] = Registry("memory policy")
HARD_CAP = 100_000
"""Rows that a growing store may reach when no cap is named."""


@policy_registry.add("fifo")
def fifo(capacity: int | None = None) -> Policy:
    """New rows replace the oldest; `fifo:500` first fills up to 500 rows."""

    def update(store: Datastore, keys: ArrayLike, labels: ArrayLike, time: int) -> Datastore:
        size = len(store) if capacity is None else capacity
        return store.add(keys, labels, time=time).newest(size)

    return update


@policy_registry.add("concat")
def concat(cap: int = HARD_CAP) -> Policy:
    """New rows are added; past a hard cap (`concat:5000`) the oldest go, with a warning."""

    def update(store: Datastore, keys: ArrayLike, labels: ArrayLike, time: int) -> Datastore:
        grown = store.add(keys, labels, time=time)
        if len(grown) > cap:
            warnings.warn(
                f"a store that only grows has reached its cap of {cap} rows; its oldest rows are dropped.",
                stacklevel=2,
            )
        return grown.newest(cap)

    return update


@policy_registry.add("fixed")
def fixed() -> Policy:
    """New rows are ignored."""
    return lambda store, keys, labels, time: store
