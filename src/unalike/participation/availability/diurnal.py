"""Diurnal availability: clients that are available by night.

The chance to be there swings once a day between `least` and `most`; clients live in different time zones:

    P(client k is there in round t) = middle + swing cos(2 pi (t + zone_k) / period).

A client's luck, a uniform number that must fall below this chance, is kept from one round to the next with
probability `correlation` and drawn anew otherwise. So the chance is met exactly in every round, and where it
does not swing the client is a two-state chain with just this correlation.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ...core.random import generator
from ...errors import ConfigError
from ...typing import Array, ClientIds, Float64s
from .base import Availability, Presence, availability_registry


class Diurnal(Availability):
    """Clients whose chance to be there swings with their day.

    The argument `correlation` is how often luck is kept, beyond the rhythm of the day; the attribute
    `correlation` is what an observer measures over whole days, rhythm included.

    >>> office = Diurnal(zones=[0, 12], period=24, least=0.0, most=1.0)
    >>> office.chances(0), office.active
    (array([1., 0.]), array([0.5, 0.5]))
    """

    def __init__(
        self,
        zones: ArrayLike,
        period: int = 24,
        least: float = 0.1,
        most: float = 0.9,
        correlation: float = 0.0,
    ) -> None:
        _check(period, least, most, correlation)
        self.zones = _check_zones(zones)
        self._keep = float(correlation)
        swing = np.cos(2 * np.pi * np.arange(int(period)) / period)
        self._day = np.clip((most + least) / 2 + (most - least) / 2 * swing, least, most)
        self.active = np.full(len(self.zones), (least + most) / 2)
        self.correlation = np.full(len(self.zones), self._autocorrelation())
        self._luck: Float64s | None = None

    def chances(self, round: int) -> Float64s:
        """The chance of each client to be there in this round."""
        return self._day[(round + self.zones) % len(self._day)]

    def present(self, round: int, rng: np.random.Generator) -> Presence:
        draw = rng.random(len(self.zones))
        if round == 0 or self._luck is None:
            self._luck = draw
        else:  # one draw decides whether luck is kept and, if not, what it becomes
            self._luck = np.where(draw < self._keep, self._luck, (draw - self._keep) / (1 - self._keep))
        return self._luck < self.chances(round)

    def _autocorrelation(self) -> float:
        today, tomorrow = self._day, np.roll(self._day, -1)
        mean = today.mean()
        both = self._keep * np.minimum(today, tomorrow) + (1 - self._keep) * today * tomorrow
        variance = mean * (1 - mean)
        return float((both.mean() - mean**2) / variance) if variance > 0 else 0.0

    def state(self) -> dict[str, Array]:
        return {} if self._luck is None else {"luck": self._luck.copy()}

    def restore(self, state: Mapping[str, Array]) -> None:
        luck = state.get("luck")
        if luck is not None and luck.shape != self.zones.shape:
            raise ConfigError(
                f"the saved availability has {luck.size} clients, but this one has {len(self.zones)}."
            )
        self._luck = None if luck is None else luck.astype(np.float64)


@availability_registry.add("diurnal")
def diurnal(
    period: int = 24,
    least: float = 0.1,
    most: float = 0.9,
    correlation: float = 0.0,
    *,
    clients: int,
    seed: int = 0,
) -> Diurnal:
    """Day and night: `period` rounds a day, a chance between `least` and `most`, zones around the clock."""
    _check(period, least, most, correlation)
    zones = generator(seed, "time zones").permutation(np.arange(clients) % int(period))
    return Diurnal(zones, period, least, most, correlation)


def _check(period: float, least: float, most: float, correlation: float) -> None:
    if not (period >= 2 and float(period).is_integer()):
        raise ConfigError(f"period must be a whole number of at least 2 rounds, but is {period}.")
    if not 0 <= least <= most <= 1:
        raise ConfigError(f"least and most must satisfy 0 <= least <= most <= 1, but are {least} and {most}.")
    if not 0 <= correlation < 1:
        raise ConfigError(f"correlation must be at least 0 and below 1, but is {correlation}.")


def _check_zones(zones: ArrayLike) -> ClientIds:
    given = np.asarray(zones)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
        raise ConfigError("zones must be one whole number of rounds per client.")
    return given.astype(np.int64)
