"""Streams whose time is not the number of rounds.

Rounds of training are mapped to rounds of the stream by a function that never falls; everything else is the
stream's own. Between two rounds of training none, one or several rounds of the stream may pass: what arrived
in all of them has arrived.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from ...typing import Array, ClientIds, Float64s
from ..federation import Federation, Split
from .base import Selection, Stream
from .fresh_use import FreshUse
from .run_weights import RunWeights
from .target_importance import Tradeoff


class MappedStream(Stream, ABC):
    """A stream whose rounds are those of another, at another pace; a subclass says which."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    @abstractmethod
    def round_of(self, number: int) -> int:
        """The stream's round, from 0, in which a round of training takes place; -1 before the first."""

    @abstractmethod
    def first_of(self, round: int) -> int:
        """The first round of training that takes place in a round of the stream, or after it."""

    @abstractmethod
    def horizon(self, rounds: int | None) -> int | None:
        """How many rounds of the stream a training takes, where that is known beforehand."""

    @property
    def changes_rows(self) -> bool:  # type: ignore[override]
        """Whether rows may arrive changed."""
        return self.stream.changes_rows

    @property
    def detector(self) -> str | None:  # type: ignore[override]
        """The drift detector that watches arriving rows."""
        return self.stream.detector

    def fit(self, tradeoff: Callable[[Stream], Tradeoff]) -> None:
        self.stream.fit(tradeoff)

    def begin(self, federation: Federation, seed: int, rounds: int | None = None) -> None:
        self.stream.begin(federation, seed, self.horizon(rounds))

    def select(self, round: int, clients: ClientIds) -> Selection:
        return self.stream.select(self.round_of(round), clients)

    def arriving(self, round: int, clients: ClientIds, since: int | None = None) -> Selection | None:
        before, now = self.round_of(round - 1 if since is None else since), self.round_of(round)
        return None if before == now else self.stream.arriving(now, clients, before)

    def most_held(self) -> int | None:
        return self.stream.most_held()

    def holdout(self, part: Split, done: int, numbers: ClientIds | None = None) -> Split:
        return self.stream.holdout(part, self.round_of(done - 1) + 1, numbers)

    def concepts(self, part: Split, done: int) -> tuple[list[float], Callable[[float], Split]]:
        return self.stream.concepts(part, self.round_of(done - 1) + 1)

    def drift_begins(self, round: int) -> list[int]:
        return [self.first_of(turn) for turn in self.stream.drift_begins(self.round_of(round))]

    def is_dry(self, round: int) -> bool:
        return self.stream.is_dry(self.round_of(round))

    def importance(self, round: int) -> Float64s | None:
        return self.stream.importance(self.round_of(round))

    def round_weight(self, round: int) -> float | None:
        return self.stream.round_weight(self.round_of(round))

    def run_weights(self, rounds: Sequence[int]) -> RunWeights | None:
        return self.stream.run_weights([self.round_of(number) for number in rounds])

    def fresh_use(self) -> FreshUse | None:
        return self.stream.fresh_use()

    def columns(self, round: int, since: int | None = None) -> dict[str, float]:
        before = self.round_of(round - 1 if since is None else since)
        return self.stream.columns(self.round_of(round), before)

    def facts(self) -> dict[str, float]:
        return self.stream.facts()

    def state(self) -> dict[str, Array]:
        return self.stream.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        self.stream.restore(state)
