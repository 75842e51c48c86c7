"""Which rows does a client hold now?  (Data streams: rows that come and go.)"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Selection(NamedTuple):
    """The rows that some clients may use now: client i has `rows[offsets[i]:offsets[i+1]]`, each with a
    weight (1 when None)."""

    rows: NDArray[np.int64]
    offsets: NDArray[np.int64]
    weights: NDArray[np.float32] | None = None


class Stream(Protocol):
    """Data that change with time: which training rows each client holds in a round, and their weights."""

    def select(self, round: int, clients: NDArray[np.int64]) -> Selection:
        """The rows of these clients in this round."""
