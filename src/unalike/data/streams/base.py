"""Which rows does a client hold now?  (Data streams: rows that come and go.)

In round t client m holds the rows I_m(t), each with a weight lambda_m(t, j) >= 0 (Marfoq, Neglia, Kameni and
Vidal, "Federated Learning for Data Streams", 2023). Its weight in the round is

    p_m(t) = W_m(t) / sum_k W_k(t),      W_m(t) = sum_{j in I_m(t)} lambda_m(t, j).

The weights of rows go with the rows, p_m(t) takes the place of the federation's importances.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...typing import Array, ClientIds, Float32s, Float64s, Int64s
from ..federation import Federation


class Selection(NamedTuple):
    """The rows that some clients may use now: client i has `rows[offsets[i]:offsets[i+1]]`, each with a
    weight (1 when None)."""

    rows: Int64s
    offsets: Int64s
    weights: Float32s | None = None


class Stream:
    """Data that change with time: which training rows each client holds in a round, and their weights."""

    def begin(self, federation: Federation, seed: int, rounds: int | None = None) -> None:
        """Get ready for a run of so many rounds, if that is known, and forget earlier ones."""

    def select(self, round: int, clients: ClientIds) -> Selection:
        """The rows of these clients in this round."""
        raise NotImplementedError(f"{type(self).__name__} does not say which rows clients hold.")

    def arriving(self, round: int, clients: ClientIds) -> Selection | None:
        """The rows that these clients receive in this round, kept or not; None where nobody knows."""
        return None

    def importance(self, round: int) -> Float64s | None:
        """How much each client counts in this round: shares that sum to one, or zeros where nobody counts;
        None where that is what the federation says."""
        return None

    def columns(self, round: int) -> dict[str, float]:
        """What is recorded of a round."""
        return {}

    def facts(self) -> dict[str, float]:
        """What is recorded once, before the first round."""
        return {}

    def state(self) -> dict[str, Array]:
        """What is saved with a checkpoint, so that a resumed run need not count from the first round."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """The inverse of :meth:`state`."""


class StreamPart(Stream):
    """The stream of some clients of a federation, whose rows are numbered anew."""

    def __init__(self, whole: Stream, numbers: ClientIds, whole_offsets: Int64s) -> None:
        self._whole, self._numbers = whole, numbers
        starts = whole_offsets[numbers]
        here = np.cumsum(whole_offsets[numbers + 1] - starts)
        self._shift = starts - np.concatenate([np.zeros(1, np.int64), here[:-1]])

    def select(self, round: int, clients: ClientIds) -> Selection:
        """The rows of these clients (numbers in the part), as they are numbered in the part."""
        found = self._whole.select(round, self._numbers[clients])
        return found._replace(rows=found.rows - np.repeat(self._shift[clients], np.diff(found.offsets)))

    def importance(self, round: int) -> Float64s | None:
        """Shares of the whole, so that they need not sum to one."""
        whole = self._whole.importance(round)
        return None if whole is None else whole[self._numbers]
