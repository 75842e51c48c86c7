"""Communication time: bytes over bandwidth, and a latency, for each client."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import ClientIds, Float64s, Int64s
from ..base import Clients
from .hardware import FINE, Hardware, Ticks


@dataclass(frozen=True)
class NetworkTime:
    """Bandwidths in megabits per second and latency in seconds, of all clients or of each.

    >>> NetworkTime(down=8.0, up=4.0).seconds(1_000_000, 500_000, 2)
    array([2., 2.])
    """

    down: ArrayLike = 100.0
    up: ArrayLike = 20.0
    latency: ArrayLike = 0.0

    @classmethod
    def of(cls, words: str) -> NetworkTime:
        """From `down,up,latency`, of which the last may be missing.

        >>> NetworkTime.of("100,20")
        NetworkTime(down=100.0, up=20.0, latency=0.0)
        """
        try:
            numbers = [float(word) for word in words.split(",")]
        except ValueError:
            numbers = []
        if not 1 <= len(numbers) <= 3:
            raise ConfigError(f"bandwidth {words!r} must be megabits down, up, and a latency in seconds.")
        return cls(*numbers)

    def seconds(self, bytes_down: int, bytes_up: int, clients: int) -> Float64s:
        """What each client's messages of one job take."""
        try:
            down, up, latency = (
                np.broadcast_to(np.asarray(value, float), clients)
                for value in (self.down, self.up, self.latency)
            )
        except ValueError as error:
            raise ConfigError(f"there must be one line for each of {clients} clients ({error}).") from None
        if not (down.min() > 0 and up.min() > 0 and latency.min() >= 0):
            raise ConfigError("bandwidths must be positive, and latencies must not be negative.")
        return 8e-6 * (bytes_down / down + bytes_up / up) + 2 * latency


class _WithNetwork(Hardware):
    """A hardware whose jobs also wait for their messages."""

    def __init__(self, computing: Hardware, extra: Float64s) -> None:
        self.computing, self.fixed = computing, computing.fixed
        self.resolution = lcm(computing.resolution, FINE)
        if self.resolution > 10**15:
            raise ConfigError("these times have no common tick; round them to a few decimals.")
        self._finer = self.resolution // computing.resolution
        self._extra = np.rint(extra * self.resolution).astype(np.int64)
        self.mean = computing.mean + extra

    def ticks(self, clients: ClientIds, jobs: Int64s) -> Ticks:
        return self.computing.ticks(clients, jobs) * self._finer + self._extra[clients]

    def chance_within(self, time: float | Float64s) -> Float64s | None:
        left = time - (self.mean - self.computing.mean)
        chance = self.computing.chance_within(np.maximum(left, 1e-300))
        return None if chance is None else np.where(left > 0, chance, 0.0)


def with_network(hardware: Hardware, network: NetworkTime, clients: Clients) -> Hardware:
    """The hardware with the time of both messages added to every job."""
    extra = network.seconds(clients.bytes_down, clients.bytes_up, len(clients.importance))
    return _WithNetwork(hardware, extra)
