"""Which rows does a client hold now?  (Data streams: rows that come and go.)"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from ..typing import ClientIds, Float32s, Int64s


class Selection(NamedTuple):
    """The rows that some clients may use now: client i has `rows[offsets[i]:offsets[i+1]]`, each with a
    weight (1 when None)."""

    rows: Int64s
    offsets: Int64s
    weights: Float32s | None = None


class Stream(Protocol):
    """Data that change with time: which training rows each client holds in a round, and their weights."""

    def select(self, round: int, clients: ClientIds) -> Selection:
        """The rows of these clients in this round."""
