"""Which functions of an aggregator an engine must call, beside `receive`."""

from __future__ import annotations

from typing import NamedTuple


class AggregatorNeeds(NamedTuple):
    """The functions of an aggregator that are called; `a | b` has the needs of both."""

    combine: bool = False
    """`combine` is called, which needs all uploads of a step in one place."""
    finish: bool = False
    """`finish` is called with the sum of the uploads."""
    measure: bool = False
    """`measure` is called, which needs all uploads of a step but leaves their sum as it is."""
    observe: bool = False
    """`observe` is called on the server's host after every step."""
    key: bool = False
    """`combine` draws random numbers with the `key` of the uploads."""

    def __or__(self, other: AggregatorNeeds) -> AggregatorNeeds:
        return AggregatorNeeds(*(mine or theirs for mine, theirs in zip(self, other, strict=True)))
