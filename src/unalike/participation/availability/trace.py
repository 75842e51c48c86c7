"""Availability traces: recorded availability of clients.

A trace is replayed as it is. What is true of a client in the long run is counted from it:

    active_k = rounds there / rounds,      correlation_k = P(there | was there) - P(there | was away).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ...errors import ConfigError, unknown
from ...typing import ClientIds, Float64s
from .base import Availability, Presence, availability_registry
from .trace_files import check_presence, read_trace

AFTER = ("stop", "repeat")


class Trace(Availability):
    """Who was there, replayed; costs memory for those who are there, not for those who are away.

    >>> recorded = Trace(np.array([[True, False], [True, True]]), after="repeat")
    >>> recorded.present(2, np.random.default_rng(0))
    array([ True, False])
    """

    def __init__(self, presence: ArrayLike, after: str = "stop") -> None:
        there = check_presence(presence)
        rounds, clients = np.nonzero(there)
        self._take(rounds, clients, (there.shape[0], there.shape[1]), after)

    @classmethod
    def listed(
        cls, rounds: ClientIds, clients: ClientIds, shape: tuple[int, int], after: str = "stop"
    ) -> Trace:
        """From pairs of a round and a client who is there in it; `shape` is (rounds, clients)."""
        trace = cls.__new__(cls)
        trace._take(rounds, clients, shape, after)
        return trace

    def _take(self, rounds: ClientIds, clients: ClientIds, shape: tuple[int, int], after: str) -> None:
        if after not in AFTER:
            raise unknown("ending of a trace", str(after), AFTER)
        self.after = after
        self._there = scipy.sparse.csr_array((np.ones(len(rounds), np.int64), (rounds, clients)), shape=shape)
        self.active = self._there.sum(axis=0) / shape[0]
        self.correlation = self._counted_correlation()

    @property
    def rounds(self) -> int:
        """How many rounds were recorded."""
        return int(self._there.shape[0])

    def check(self, clients: int, rounds: int) -> None:
        super().check(clients, rounds)
        if self.after == "stop" and rounds > self.rounds:
            raise ConfigError(
                f"the trace has {self.rounds} rounds, fewer than the {rounds} of this run; run fewer, or let "
                "the trace repeat."
            )

    def present(self, round: int, rng: np.random.Generator) -> Presence:
        if self.after == "stop" and round >= self.rounds:
            raise ConfigError(f"the trace has {self.rounds} rounds and does not say who is there in {round}.")
        start, stop = self._there.indptr[round % self.rounds :][:2]
        there = np.zeros(len(self.active), np.bool_)
        there[self._there.indices[start:stop]] = True
        return there

    def _counted_correlation(self) -> Float64s:
        moments = np.arange(self.rounds if self.after == "repeat" else self.rounds - 1)
        before, now = self._there[moments], self._there[(moments + 1) % self.rounds]
        was, stayed = before.sum(axis=0), before.multiply(now).sum(axis=0)
        away, came = len(moments) - was, now.sum(axis=0) - stayed
        both = (was > 0) & (away > 0)
        return np.where(both, stayed / np.maximum(was, 1) - came / np.maximum(away, 1), 0.0)


@availability_registry.add("trace")
def trace(path: str, after: str = "stop", *, clients: int) -> Trace:
    """Replay a file with a line `round,client` for everyone who is there; `after` it ends: stop or repeat."""
    rounds, there, length = read_trace(Path(str(path)), clients)
    return Trace.listed(rounds, there, (length, clients), after)
