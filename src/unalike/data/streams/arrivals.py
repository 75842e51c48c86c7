"""Arrival processes: how many rows does each client receive in a round?

    N_m(t) = min(b_m(0) + ... + b_m(t), rows of client m)

rows of client m have arrived up to and including round t (Marfoq et al., "Federated Learning for Data
Streams", 2023, section 3). When a client's rows are used up, nothing arrives any more. With `historical`
clients (a share below one, or a number), the first so many clients have all of their rows from the start and
room for them; the others receive theirs as the process says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...core.random import bits
from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Array, Bools, Int64s
from ..historical_split import count_historical

if TYPE_CHECKING:
    from .changing_mixture import ChangingMixture

MOST_ROWS = 10**9
"""Rows that can arrive in a round, at most."""


class Arrivals:
    """How many of its rows each client has received; a process says :meth:`sent`."""

    mixture: ChangingMixture | None = None
    """Of which populations the rows of a round are, where that changes; else they come in a random order."""

    def __init__(self, historical: float = 0) -> None:
        if not (0 <= historical < 1 or float(historical).is_integer()):
            raise ConfigError(
                f"historical clients are a share below 1 or a whole number of clients, not {historical}."
            )
        if historical < 0:
            raise ConfigError(f"the share of historical clients must not be negative, but is {historical}.")
        self.historical_clients = historical
        """Those that the process itself makes historical: a share of the clients below 1, or a number."""

    def begin(self, sizes: Int64s, seed: int) -> None:
        """Get ready for clients with so many rows."""
        count = count_historical(self.historical_clients, len(sizes))
        self.sizes, self.seed = sizes, seed
        self.historical: Bools = np.arange(len(sizes)) < count
        """Clients that have all of their rows from the start."""
        self.exempt: Bools = self.historical
        """Clients with room for all of their rows, whatever the memory's rule."""
        self.passing: Bools | None = None
        """Clients that come for a while and then leave their place to others; nobody when None."""

    def sent(self, round: int) -> Int64s:
        """Rows that have been sent to each client up to and including a round, if there are as many."""
        raise NotImplementedError(f"{type(self).__name__} must implement sent().")

    def arrived(self, round: int) -> Int64s:
        """Rows of each client that have arrived up to and including a round; none before the first."""
        if round < 0:
            return np.zeros(len(self.sizes), np.int64)
        return np.where(self.historical, self.sizes, np.minimum(self.sent(round), self.sizes))

    def gone(self, round: int) -> Int64s:
        """How many of them are lost because the client has left."""
        return np.zeros(len(self.sizes), np.int64)

    def state(self) -> dict[str, Array]:
        """What has been counted so far, where counting takes time."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """The inverse of :meth:`state`."""


arrival_registry: Registry[Arrivals] = Registry("arrivals", "arrivals")


class Historical(Arrivals):
    """All rows are there in round 0, and the memory keeps of them what it can."""

    def begin(self, sizes: Int64s, seed: int) -> None:
        super().begin(sizes, seed)
        self.historical = np.ones(len(sizes), np.bool_)

    def sent(self, round: int) -> Int64s:
        return self.sizes


class Constant(Arrivals):
    """The same number of rows each round; a fraction of a row is sent when it has become a whole one."""

    def __init__(self, rate: float, historical: float = 0) -> None:
        super().__init__(historical)
        self.rate = check_rate(rate)

    def sent(self, round: int) -> Int64s:
        # A thousandth of a millionth makes up for rates such as 0.1, of which ten are less than one.
        return np.full(len(self.sizes), int(self.rate * (round + 1) + 1e-9), np.int64)


class Spread(Arrivals):
    """All rows of a client evenly over some rounds; the first rounds have one more where it does not fit."""

    def __init__(self, rounds: int, historical: float = 0) -> None:
        super().__init__(historical)
        self.rounds = check_rounds(rounds)

    def sent(self, round: int) -> Int64s:
        past = min(round + 1, self.rounds)
        return self.sizes // self.rounds * past + np.minimum(self.sizes % self.rounds, past)


class Windows(Arrivals):
    """Clients come one after the other, each with all of its rows, and leave after some rounds."""

    def __init__(self, rounds: int, window: int = 1, historical: float = 0) -> None:
        super().__init__(historical)
        self.rounds, self.window = check_rounds(rounds), check_rounds(window)

    def begin(self, sizes: Int64s, seed: int) -> None:
        super().begin(sizes, seed)
        others = np.flatnonzero(~self.historical)
        order = others[np.argsort(bits(seed, "window", others), kind="stable")]
        self.starts = np.zeros(len(sizes), np.int64)
        self.starts[order] = np.arange(len(others)) * self.rounds // max(len(others), 1)
        self.passing = ~self.historical

    def sent(self, round: int) -> Int64s:
        return np.where(self.starts <= round, self.sizes, 0)

    def gone(self, round: int) -> Int64s:
        return np.where(~self.historical & (self.starts + self.window <= round), self.sizes, 0)


@arrival_registry.add("historical")
def historical() -> Arrivals:
    """All rows of every client are there in the first round."""
    return Historical()


@arrival_registry.add("constant")
def constant(rate: float, historical: float = 0) -> Arrivals:
    """`constant:20` sends every client 20 rows a round; in `constant:20,0.5` half of the clients, the first,
    have all of their rows from the start."""
    return Constant(rate, historical)


@arrival_registry.add("spread")
def spread(rounds: int, historical: float = 0) -> Arrivals:
    """`spread:100` sends each client its rows evenly over 100 rounds; `spread:100,0.5` as in `constant`."""
    return Spread(rounds, historical)


@arrival_registry.add("intermittent")
def intermittent(rounds: int, window: int = 1, historical: float = 0) -> Arrivals:
    """`intermittent:100,2` lets clients come one after the other over 100 rounds, each for two rounds, with
    all of its rows; `intermittent:100,2,0.5` as in `constant`."""
    return Windows(rounds, window, historical)


def check_rate(rate: float) -> float:
    """The same rate, if it is one."""
    if not 0 < rate <= MOST_ROWS:
        raise ConfigError(f"the rows of a round must be above 0 and at most {MOST_ROWS:,}, but are {rate}.")
    return rate


def check_rounds(rounds: int) -> int:
    """The same number of rounds, if it is one."""
    if type(rounds) is not int or not 1 <= rounds <= MOST_ROWS:
        raise ConfigError(f"a number of rounds must be whole and at least 1, but is {rounds}.")
    return rounds
