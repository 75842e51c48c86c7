"""Arrivals by simulated time, whatever the server's policy.

    stream's round of aggregation k  =  floor(T(k - 1) / period)

with T(k - 1) the time of the aggregation before, 0 for the first: clients hold what had arrived when the
server last aggregated. So all policies see the same rows at the same time, however often they aggregate. In
synchronous rounds of one unit and with a period of one unit, aggregation k is the stream's round k.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping

import numpy as np

from ...errors import ConfigError
from ...typing import Array
from ..federation import Federation
from .base import Stream
from .mapped_stream import MappedStream

_ROUNDING = 1e-9
"""Of a round: times are sums of floats."""


class ClockedStream(MappedStream):
    """A stream whose rounds take a `period` of simulated time each, in a training that ends at `until`.

    >>> stream = ClockedStream(Stream(), period=2.0)
    >>> for number, time in enumerate([0.5, 1.5, 6.0]):
    ...     stream.tick(number, time)
    >>> [stream.round_of(number) for number in range(4)]
    [0, 0, 0, 3]
    """

    def __init__(self, stream: Stream, period: float = 1.0, until: float = math.inf) -> None:
        super().__init__(stream)
        self.length, self.until = check_period(period), until
        self._numbers, self._rounds = [0], [0]

    def begin(self, federation: Federation, seed: int, rounds: int | None = None) -> None:
        self._numbers, self._rounds = [0], [0]
        super().begin(federation, seed, rounds)

    def horizon(self, rounds: int | None) -> int | None:
        return None if math.isinf(self.until) else max(1, math.ceil(self.until / self.length - _ROUNDING))

    def tick(self, number: int, time: float) -> None:
        now = math.floor(time / self.length + _ROUNDING)
        if number >= self._numbers[-1] and now > self._rounds[-1]:
            self._numbers.append(number + 1)
            self._rounds.append(now)

    def round_of(self, number: int) -> int:
        return -1 if number < 0 else self._rounds[bisect_right(self._numbers, number) - 1]

    def first_of(self, round: int) -> int:
        place = bisect_left(self._rounds, round)
        return self._numbers[min(place, len(self._numbers) - 1)]

    def state(self) -> dict[str, Array]:
        return {**super().state(), "clock": np.array([self._numbers, self._rounds], np.int64)}

    def restore(self, state: Mapping[str, Array]) -> None:
        super().restore({name: value for name, value in state.items() if name != "clock"})
        if "clock" in state:
            self._numbers, self._rounds = (list(map(int, row)) for row in state["clock"])


def check_period(period: float) -> float:
    """The same length of a stream's round, if it is one."""
    if not 0 < period < math.inf:
        raise ConfigError(f"a stream's period must be above 0 and finite, but is {period}.")
    return float(period)
