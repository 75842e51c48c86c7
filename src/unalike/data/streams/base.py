"""Data streams: which rows does a client hold now?

In round t client m holds the rows I_m(t), each with a weight lambda_m(t, j) >= 0 (Marfoq, Neglia, Kameni and
Vidal, "Federated Learning for Data Streams", 2023). Its weight in the round is

    p_m(t) = W_m(t) / sum_k W_k(t),      W_m(t) = sum_{j in I_m(t)} lambda_m(t, j).

The weights of rows go with the rows, p_m(t) takes the place of the federation's importances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...typing import Array, Bools, ClientIds, Float32s, Float64s, Int64s
from ..federation import Federation, Split
from .changes import Change
from .fresh_use import FreshUse
from .run_weights import RunWeights
from .target_importance import Tradeoff


class Selection(NamedTuple):
    """The rows that some clients may use now: client i has `rows[offsets[i]:offsets[i+1]]`, each with a
    weight (1 when None)."""

    rows: Int64s
    offsets: Int64s
    weights: Float32s | None = None
    drifted: Bools | None = None
    """Which of the rows came changed, where there is a `change`."""
    change: Change | None = None

    def read(self, split: Split, index: Int64s | None = None) -> tuple[Array, Array]:
        """Features and labels of the rows, or of some, by their places among `rows`, as clients received
        them."""
        if not len(self.rows):  # then whatever is asked for is padding
            rows = np.zeros(0, np.int64) if index is None else index
            return split.x[rows], split.y[rows]
        rows = self.rows if index is None else self.rows[index]
        if self.drifted is None or self.change is None:
            return split.x[rows], split.y[rows]
        return self.change.apply(
            split.x[rows], split.y[rows], self.drifted if index is None else self.drifted[index]
        )

    def only(self, split: Split, clients: ClientIds) -> Split:
        """Only these rows of these clients, whose numbers ascend; the others have none."""
        sizes = np.zeros(len(split.offsets) - 1, np.int64)
        sizes[clients] = np.diff(self.offsets)
        return Split(*self.read(split), np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]))


class Stream:
    """Data that change with time: which training rows each client holds in a round, and their weights."""

    detector: str | None = None
    """The drift detector that watches how well arriving rows are predicted, if there is one."""
    changes_rows = False
    """Whether rows may arrive changed, so that they are not those of the federation."""
    period: float | None = None
    """How long a round of the stream takes in simulated time; as a round of training where there is no clock,
    else one unit, when not given."""

    def fit(self, tradeoff: Callable[[Stream], Tradeoff]) -> None:
        """Learn what must be known of the clients before a run; `tradeoff(stream)` measures what the
        constants of the error bound come to, by first local steps."""

    def begin(self, federation: Federation, seed: int, rounds: int | None = None) -> None:
        """Get ready for a run of so many rounds, if that is known, and forget earlier ones."""

    def select(self, round: int, clients: ClientIds) -> Selection:
        """The rows of these clients in this round."""
        raise NotImplementedError(f"{type(self).__name__} must implement select().")

    def most_held(self) -> int | None:
        """The most rows that any client ever holds at once; None where that may be all of them."""
        return None

    def arriving(self, round: int, clients: ClientIds, since: int | None = None) -> Selection | None:
        """The rows that these clients receive in this round, kept or not, and in all others after the round
        `since`, where that is given; None where nobody knows."""
        return None

    def importance(self, round: int) -> Float64s | None:
        """How much each client counts in this round: shares that sum to one, or zeros where nobody counts;
        None where that is what the federation says."""
        return None

    def round_weight(self, round: int) -> float | None:
        """W(t), the sum of the weights lambda of all rows in this round, by which rounds count in an average
        of models; None where rounds count alike."""
        return None

    def run_weights(self, rounds: Sequence[int]) -> RunWeights | None:
        """What these rounds, the clients and the rows count in all; None where nobody knows."""
        return None

    def fresh_use(self) -> FreshUse | None:
        """How rows of fresh clients are used in the run, where the weights assume that each is used once;
        None where they assume nothing, or there are none."""
        return None

    def holdout(self, part: Split, done: int, numbers: ClientIds | None = None) -> Split:
        """Test or validation rows as they are after so many rounds; `numbers` are those of the clients in the
        whole federation, where `part` is of some."""
        return part

    def concepts(self, part: Split, done: int) -> tuple[list[float], Callable[[float], Split]]:
        """The times between drifts so far, each by the concept of its rows, the present last; and test rows
        of a concept."""
        return [0.0], lambda _: part

    def drift_begins(self, round: int) -> list[int]:
        """The rounds, up to this one, in which a drift has begun."""
        return []

    def is_dry(self, round: int) -> bool:
        """Whether all rows had arrived before this round, so that none will come any more."""
        return False

    def tick(self, number: int, time: float) -> None:
        """Hear when, in simulated time, a step of training took place; only a stream with a clock listens."""

    def columns(self, round: int, since: int | None = None) -> dict[str, float]:
        """What is recorded of a round, and of those after the round `since`, where that is given."""
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
        self._whole, self._numbers, self.changes_rows = whole, numbers, whole.changes_rows
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

    def holdout(self, part: Split, done: int, numbers: ClientIds | None = None) -> Split:
        """The part's test rows change as they do in the whole."""
        return self._whole.holdout(part, done, self._numbers if numbers is None else self._numbers[numbers])
