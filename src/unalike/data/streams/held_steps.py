"""What if a time step of a stream takes several rounds?  (Online learning with inner iterations.)"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...typing import Array, ClientIds, Float64s
from ..federation import Federation, Split
from .base import Selection, Stream


@dataclass(frozen=True)
class HeldSteps(Stream):
    """A stream whose rows of each time step are shown for several rounds.

    >>> HeldSteps(Stream(), 3).step_of(7)
    2
    """

    stream: Stream
    rounds: int

    def step_of(self, round: int) -> int:
        """The time step, from 0, that a round belongs to."""
        return round // self.rounds

    @property
    def changes_rows(self) -> bool:  # type: ignore[override]
        """Whether rows may arrive changed."""
        return self.stream.changes_rows

    @property
    def detector(self) -> str | None:  # type: ignore[override]
        """The drift detector that watches arriving rows."""
        return self.stream.detector

    def begin(self, federation: Federation, seed: int, rounds: int | None = None) -> None:
        self.stream.begin(federation, seed, None if rounds is None else -(-rounds // self.rounds))

    def select(self, round: int, clients: ClientIds) -> Selection:
        return self.stream.select(self.step_of(round), clients)

    def arriving(self, round: int, clients: ClientIds) -> Selection | None:
        return self.stream.arriving(self.step_of(round), clients) if round % self.rounds == 0 else None

    def most_held(self) -> int | None:
        return self.stream.most_held()

    def holdout(self, part: Split, done: int, numbers: ClientIds | None = None) -> Split:
        return self.stream.holdout(part, -(-done // self.rounds), numbers)

    def concepts(self, part: Split, done: int) -> tuple[list[float], Callable[[float], Split]]:
        return self.stream.concepts(part, -(-done // self.rounds))

    def drift_begins(self, round: int) -> list[int]:
        return [turn * self.rounds for turn in self.stream.drift_begins(self.step_of(round))]

    def importance(self, round: int) -> Float64s | None:
        return self.stream.importance(self.step_of(round))

    def columns(self, round: int) -> dict[str, float]:
        return self.stream.columns(self.step_of(round))

    def facts(self) -> dict[str, float]:
        return self.stream.facts()

    def state(self) -> dict[str, Array]:
        return self.stream.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        self.stream.restore(state)
