"""Use of fresh rows: in how many rounds is each in memory, and how regularly do they arrive?

Optimal importances (Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams", 2023, corollary
5.1) are derived for fresh clients with C_m = b_m: they receive b_m rows in every round and have capacity for
no more, so that each row is used in one round. With a larger capacity rows are used again, gradients of
successive rounds are alike, and the bound counts more noise than there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...typing import Bools, Int64s

if TYPE_CHECKING:
    from .stream import MemoryStream

MOST_ROUNDS = 1_000
"""Rounds that are looked at where nobody knows how many there will be: until all rows have arrived, and no
more than these."""


class FreshUse(NamedTuple):
    """How rows of fresh clients are used in a run."""

    longest: int
    """The most rounds in which a row is in memory."""
    fewest: int
    """Rows that a fresh client receives in a round, at least."""
    most: int
    """At most, of the client for which the two differ the most."""

    @property
    def is_single(self) -> bool:
        """Whether every row is used in one round, and clients receive as many in each (give or take one)."""
        return self.longest <= 1 and self.most - self.fewest <= 1

    @property
    def sentence(self) -> str:
        """What is not as assumed.

        >>> FreshUse(20, 5, 5).sentence
        'rows stay in memory for up to 20 rounds'
        """
        rate = f"a client receives between {self.fewest:,} and {self.most:,} rows a round"
        stay = f"rows stay in memory for up to {self.longest:,} rounds"
        parts = {stay: self.longest > 1, rate: self.most - self.fewest > 1}
        return " and ".join(part for part, wrong in parts.items() if wrong)


def use_of_fresh_rows(stream: MemoryStream, rounds: int | None) -> FreshUse | None:
    """How fresh rows are used in so many rounds; None where no client is fresh and stays for the run."""
    passing = stream.arrivals.passing
    fresh = ~stream.arrivals.historical if passing is None else ~(stream.arrivals.historical | passing)
    fresh = fresh & (stream.sizes > 0)
    if not fresh.any():
        return None
    last = _until_dry(stream) if rounds is None else rounds
    stays = stream.lifetimes(last)[np.repeat(fresh, stream.sizes)]
    fewest, most = _received(stream, fresh, last)
    client = int(np.argmax(most - fewest))
    return FreshUse(int(stays.max(initial=0)), int(fewest[client]), int(most[client]))


def _until_dry(stream: MemoryStream) -> int:
    """The rounds in which rows arrive, or as many as are looked at."""
    return next((t for t in range(1, MOST_ROUNDS) if stream.is_dry(t)), MOST_ROUNDS)


def _received(stream: MemoryStream, fresh: Bools, rounds: int) -> tuple[Int64s, Int64s]:
    """Rows that each fresh client receives in a round, at least and at most."""
    before = stream.arrivals.arrived(-1)[fresh]
    fewest, most = np.full(len(before), np.iinfo(np.int64).max), np.zeros(len(before), np.int64)
    for round in range(rounds):
        now = stream.arrivals.arrived(round)[fresh]
        fewest, most = np.minimum(fewest, now - before), np.maximum(most, now - before)
        before = now
    return np.minimum(fewest, most), most
