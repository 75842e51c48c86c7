"""Memory update rules: sliding windows, bounded capacity.

A rule says Mem(t) = Update(Mem(t-1), Batch(t)) (Marfoq et al., "Federated Learning for Data Streams", 2023).
Rows are numbered in the order of their arrival, so all rules here have closed forms, and nothing is replayed:

    fifo      the rows numbered N(t) - C to N(t) - 1
    replace   N(t-1) to N(t) - 1;   window  N(t-tau) to N(t) - 1;   of these, the newest C
    freeze    the first batch, of this the first C

with N(t) the rows that have arrived up to round t and C the capacity (all of them, when not given).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Array, Bools, ClientIds, Int64s
from .arrivals import MOST_ROWS, Arrivals, check_rounds


class Span(NamedTuple):
    """Rows of clients by the order of their arrival: from `first` to before `last`."""

    first: Int64s
    last: Int64s

    @property
    def sizes(self) -> Int64s:
        """How many rows that is."""
        return np.maximum(self.last - self.first, 0)


class Candidates(NamedTuple):
    """Rows among which a rule chooses, one client's after the other's."""

    owner: Int64s
    """Which of the clients asked about each row belongs to."""
    clients: ClientIds
    """The client of each row."""
    places: Int64s
    """The place of each row in the order of the client's arrivals."""
    labels: Array | None
    """The class of each row, where the rule needs it."""


class MemoryRule:
    """What clients keep; a rule says :meth:`span` and, where that is not all, :meth:`keeps`."""

    needs_labels = False
    draws = False
    """Whether :meth:`keeps` chooses among the rows of the span."""

    def __init__(self, capacity: int | None = None) -> None:
        if capacity is not None and (type(capacity) is not int or capacity < 1):
            raise ConfigError(f"a memory must have room for at least 1 row, but has it for {capacity}.")
        if capacity is not None and capacity > MOST_ROWS:
            raise ConfigError(f"a memory has room for at most {MOST_ROWS:,} rows; leave it out to keep all.")
        self.capacity = capacity

    def begin(self, seed: int) -> None:
        """Get ready for a run, and forget earlier ones."""
        self.seed = seed

    def span(self, arrivals: Arrivals, round: int) -> Span:
        """The rows among which each client chooses."""
        raise NotImplementedError(f"{type(self).__name__} must implement span().")

    def keeps(self, rows: Candidates) -> Bools | None:
        """Which of them are kept; None means all of them."""
        return None

    def held(self, span: Span) -> Int64s:
        """How many rows each client holds."""
        return span.sizes if self.capacity is None else np.minimum(span.sizes, self.capacity)

    def newest(self, first: Int64s, last: Int64s) -> Span:
        """The newest of these rows, as many as there is room for."""
        return Span(first if self.capacity is None else np.maximum(first, last - self.capacity), last)

    def state(self) -> dict[str, Array]:
        """What must be saved, where the rule remembers something."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """The inverse of :meth:`state`."""


memory_registry: Registry[MemoryRule] = Registry("memory", "memories")


@memory_registry.add("fifo")
class Fifo(MemoryRule):
    """`fifo:100` keeps the newest 100 rows; `fifo` alone keeps everything."""

    def span(self, arrivals: Arrivals, round: int) -> Span:
        return self.newest(arrivals.gone(round), arrivals.arrived(round))


@memory_registry.add("replace")
class Replace(MemoryRule):
    """`replace` keeps the rows of this round alone, nothing when nothing arrives; `replace:100` the newest
    100 of them."""

    def span(self, arrivals: Arrivals, round: int) -> Span:
        past = np.maximum(arrivals.arrived(round - 1), arrivals.gone(round))
        return self.newest(past, arrivals.arrived(round))


@memory_registry.add("window")
class Window(MemoryRule):
    """`window:5` keeps every row for 5 rounds; `window:5,100` only the newest 100 of them."""

    def __init__(self, rounds: int, capacity: int | None = None) -> None:
        super().__init__(capacity)
        self.rounds = check_rounds(rounds)

    def span(self, arrivals: Arrivals, round: int) -> Span:
        past = np.maximum(arrivals.arrived(round - self.rounds), arrivals.gone(round))
        return self.newest(past, arrivals.arrived(round))


@memory_registry.add("freeze")
class Freeze(MemoryRule):
    """`freeze` keeps a client's first batch for ever, and nothing else; `freeze:100` its first 100 rows."""

    def begin(self, seed: int) -> None:
        super().begin(seed)
        self._first: Int64s | None = None
        self._seen = -1

    def span(self, arrivals: Arrivals, round: int) -> Span:
        first = self._first_batches(arrivals, round)
        kept = first if self.capacity is None else np.minimum(first, self.capacity)
        return Span(arrivals.gone(round), np.minimum(kept, arrivals.arrived(round)))

    def _first_batches(self, arrivals: Arrivals, round: int) -> Int64s:
        """Rows of each client's first batch that came up to a round; later ones may be known already."""
        first = arrivals.arrived(-1) if self._first is None else self._first
        while self._seen < round and not first.all():
            self._seen += 1
            first = np.where(first == 0, arrivals.arrived(self._seen), first)
        self._first = first
        return first

    def state(self) -> dict[str, Array]:
        return {} if self._first is None else {"first": self._first, "seen": np.array(self._seen)}

    def restore(self, state: Mapping[str, Array]) -> None:
        if "first" in state:
            self._first, self._seen = np.array(state["first"]), int(state["seen"])


def make_memory(words: str | int | None) -> MemoryRule:
    """The rule of a specification; a number alone is the capacity of `fifo`.

    >>> make_memory("100").capacity, make_memory(None).capacity
    (100, None)
    """
    text = "fifo" if words is None else str(words).strip()
    number = text.removeprefix("-").replace(".", "", 1).isdigit()
    return memory_registry.make(f"fifo:{text}" if number else text)
