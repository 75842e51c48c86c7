"""Online learning with inner iterations: several rounds per time step of a stream."""

from __future__ import annotations

from ...errors import ConfigError
from .base import Stream
from .mapped_stream import MappedStream


class HeldSteps(MappedStream):
    """A stream whose rows of each time step are shown for several rounds.

    >>> HeldSteps(Stream(), 3).round_of(7)
    2
    """

    def __init__(self, stream: Stream, rounds: int) -> None:
        super().__init__(stream)
        self.rounds = rounds

    def round_of(self, number: int) -> int:
        return number // self.rounds

    def first_of(self, round: int) -> int:
        return round * self.rounds

    def horizon(self, rounds: int | None) -> int | None:
        return None if rounds is None else -(-rounds // self.rounds)

    def tick(self, number: int, time: float) -> None:
        if (number + 1) % self.rounds == 0:
            self.stream.tick(number // self.rounds, time)


def hold_steps(stream: Stream | None, rounds: int) -> Stream | None:
    """The stream for a method whose time steps take so many rounds: each step sees one set of rows.

    A stream that is held already must be held for that long, or a multiple of it.
    """
    if isinstance(stream, HeldSteps):
        if stream.rounds % rounds:
            raise ConfigError(
                f"the stream holds its rows for {stream.rounds} rounds, but a time step of this method takes "
                f"{rounds}; give the stream without HeldSteps, and training holds it as long as needed."
            )
        return stream
    return stream if stream is None or rounds == 1 else HeldSteps(stream, rounds)
