"""Concept drift that is injected: abrupt, gradual, recurring.

A row that client m receives in round t is changed with probability s(t), the share of the new concept:

    abrupt      s(t) = 1 from round D on
    gradual     s(t) = (t - D + 1) / W from round D on, until it is 1 after W rounds
    recurring   s(t) = 1 in every second stretch of P rounds

(Gama, Zliobaite, Bifet, Pechenizkiy and Bouchachia, "A survey on concept drift adaptation", 2014, section 2).
A row keeps the concept that it came with, for as long as a memory holds it; so clients that have all of their
rows from the start see no drift. The hold-out follows: after t rounds, a share s(t - 1) of the test and
validation rows is changed, so that it measures the concept of the rows that arrived last, and falls when the
model is of yesterday. Draws are functions of (seed, client, place of the row).
"""

from __future__ import annotations

import numpy as np

from ...core.random import bits
from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Bools, ClientIds, Float64s, Int64s
from ..federation import Federation, Split
from .arrivals import Arrivals, check_rounds
from .changes import change_registry

_KEPT = 4
"""Changed copies of test and validation rows that are kept."""


class Drift:
    """Rows that change with time; a kind says :meth:`share` and :meth:`turns`."""

    def __init__(self, first: int, change: str) -> None:
        self.first = check_rounds(first)
        """The first round whose rows may be changed."""
        self.change = change_registry.make(change)

    def begin(self, federation: Federation, arrivals: Arrivals, seed: int, rounds: int | None) -> None:
        """Get ready for a run, and forget earlier ones."""
        if rounds is not None and self.first >= rounds:
            raise ConfigError(
                f"the drift would begin in round {self.first}, but there are {rounds}, numbered from 0."
            )
        self.change.begin(federation)
        last = arrivals.sizes if rounds is None else arrivals.arrived(rounds - 1)
        if not (arrivals.arrived(self.first - 1) < last).any():
            raise ConfigError(
                f"the drift would begin in round {self.first}, but no row arrives from then on; let it drift "
                "earlier, or let rows arrive for longer, such as fewer in a round or fewer clients with more."
            )
        self._arrivals, self._seed = arrivals, seed
        self._before: dict[int, Int64s] = {}
        self._copies: dict[tuple[int, float], tuple[Split, Split]] = {}

    def share(self, round: int) -> float:
        """s(t): which part of the rows of a round is changed."""
        raise NotImplementedError(f"{type(self).__name__} must implement share().")

    def turns(self, round: int) -> list[int]:
        """The rounds, up to this one, whose share is another than that of the round before."""
        raise NotImplementedError(f"{type(self).__name__} must implement turns().")

    def begins(self, round: int) -> list[int]:
        """The rounds, up to this one, in which the world begins to change."""
        return self.turns(round)

    def segments(self, round: int) -> list[float]:
        """The share of each time between drifts, in order, the present one last."""
        return [0.0, *(self.share(turn) for turn in self.turns(round))]

    def drifted(self, round: int, clients: ClientIds, places: Int64s) -> Bools:
        """Which rows, that have arrived up to a round, are changed; a client and a place in the order of its
        arrivals for each."""
        turns = self.turns(round)
        shares = np.array([0.0, *(self.share(turn) for turn in turns)])
        passed = np.zeros(len(places), np.int64)
        for turn in turns:
            if turn not in self._before:
                self._before[turn] = self._arrivals.arrived(turn - 1)
            passed += places >= self._before[turn][clients]
        return _uniform(self._seed, "drift", clients, places) < shares[passed]

    def holdout(self, part: Split, share: float, numbers: ClientIds | None = None) -> Split:
        """Rows that do not arrive, of which a share is changed; `numbers` are those of the clients in the
        whole federation."""
        if share == 0 or not len(part.y):
            return part
        key = (id(part), share)
        if key not in self._copies:
            owners = part.owners.astype(np.int64)
            places = np.arange(len(owners)) - part.offsets[owners]
            whose = owners if numbers is None else numbers[owners]
            where = _uniform(self._seed, "drift of hold-out", whose, places) < share
            self._copies[key] = (part, Split(*self.change.apply(part.x, part.y, where), part.offsets))
            while len(self._copies) > _KEPT:
                del self._copies[next(iter(self._copies))]
        return self._copies[key][1]


drift_registry: Registry[Drift] = Registry("drift", "drifts")


@drift_registry.add("abrupt")
class Abrupt(Drift):
    """`abrupt:50,label-swap` changes every row that arrives from round 50 on."""

    def __init__(self, round: int, change: str) -> None:
        super().__init__(round, change)

    def share(self, round: int) -> float:
        return float(round >= self.first)

    def turns(self, round: int) -> list[int]:
        return [self.first] if round >= self.first else []


@drift_registry.add("gradual")
class Gradual(Drift):
    """`gradual:50,20,label-swap` changes more and more rows from round 50 on, and all after 20 rounds."""

    def __init__(self, round: int, rounds: int, change: str) -> None:
        super().__init__(round, change)
        self.rounds = check_rounds(rounds)

    def share(self, round: int) -> float:
        return float(np.clip((round - self.first + 1) / self.rounds, 0, 1))

    def turns(self, round: int) -> list[int]:
        return list(range(self.first, min(round + 1, self.first + self.rounds)))

    def begins(self, round: int) -> list[int]:
        return self.turns(round)[:1]

    def segments(self, round: int) -> list[float]:
        return [0.0, self.share(round)] if round >= self.first else [0.0]


@drift_registry.add("recurring")
class Recurring(Drift):
    """`recurring:20,label-swap` changes the rows of rounds 20 to 39, 60 to 79, and so on."""

    def __init__(self, every: int, change: str) -> None:
        super().__init__(every, change)

    def share(self, round: int) -> float:
        return float(round // self.first % 2)

    def turns(self, round: int) -> list[int]:
        return list(range(self.first, round + 1, self.first))


def _uniform(seed: int, purpose: str, clients: ClientIds, places: Int64s) -> Float64s:
    """A number from 0 to below 1 for each row; never 1, so that a share of 1 is all rows."""
    drawn: Float64s = (bits(seed, purpose, clients, places) >> np.uint64(11)) * np.float64(2.0**-53)
    return drawn
