"""Full-batch steps, because mini-batches would be sums over few rows.

Which rows are in a mini-batch follows from a seed that the server knows, so uploads of mini-batches are sums
over row sets of its choice, and enough of them can be solved for single responses. A step over all rows says
no more than their sums of squares and products, over which the other rules watch.
"""

from __future__ import annotations

from typing import Any

from ...algorithms import LocalWork
from .policy import DisclosureError


def check_full_batches(method: Any, rows: int) -> None:
    """Raise for a method whose steps work on some of a node's rows.

    >>> from unalike.algorithms import FedAvg
    >>> method = FedAvg(work=LocalWork(steps=3, batch_size=32))
    >>> check_full_batches(method, 20)
    >>> check_full_batches(method, 100)
    Traceback (most recent call last):
      ...
    unalike.analytics.disclosure.policy.DisclosureError: this node works on all of its rows in every step, ...
    """
    sizes = [getattr(method, "batch_size", 0)]
    work = getattr(method, "work", None)
    if isinstance(work, LocalWork) and work.steps != 0 and work.epochs != 0:
        sizes.append(work.batch_size)
    if any(0 < size < rows for size in sizes):
        raise DisclosureError(
            "this node works on all of its rows in every step, because mini-batches would be sums over few "
            "of them; set batch_size=0."
        )
