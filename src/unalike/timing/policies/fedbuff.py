"""FedBuff: the server waits for a few results (Nguyen et al., "Federated Learning with Buffered Asynchronous
Aggregation", 2022).

The first `buffer` results are taken together; those that are early wait for the others. A buffer of one is
asynchronous, one of all clients is synchronous.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...errors import ConfigError
from ...typing import Float64s
from ..base import Clients, Traits, timing_registry
from .base import Policy


@timing_registry.add("fedbuff")
@dataclass
class FedBuff(Policy):
    """The first results together; `fedbuff:10` waits for ten."""

    traits: ClassVar[Traits] = Policy.traits._replace(takes_all=True)

    buffer: int = 10

    def begin(self, clients: Clients) -> None:
        count = len(clients.importance)
        if not 1 <= self.buffer <= count or self.buffer != int(self.buffer):
            raise ConfigError(
                f"the buffer must be a whole number between 1 and the number of clients ({count}), but is "
                f"{self.buffer}."
            )
        super().begin(clients)

    def wait(self) -> tuple[int, list[int]]:
        return self.taken(self.arrivals(count=self.buffer))

    def frequency(self) -> Float64s | None:
        """That of its neighbors: a buffer of one is asynchronous, and one of all clients waits for them."""
        rates = 1 / self.times.mean
        if self._losses or self.buffer not in (1, len(rates)):
            return None
        return rates / rates.sum() if self.buffer == 1 else np.ones(len(rates))

    def uncorrected(self, importance: Float64s) -> Float64s:
        return np.full(len(importance), 1 / self.buffer)
