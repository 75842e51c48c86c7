"""What if the server waits for a few results?  (FedBuff: Nguyen et al., "Federated Learning with Buffered
Asynchronous Aggregation", 2022.)

The first `buffer` results are taken together; those that are early wait for the others. A buffer of one is
asynchronous, one of all clients is synchronous.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ConfigError
from .base import Clients, timings
from .policy import Floats, Policy


@timings.add("fedbuff")
@dataclass
class FedBuff(Policy):
    """The first results together; `fedbuff:10` waits for ten."""

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

    def uncorrected(self, importance: Floats) -> Floats:
        return np.full(len(importance), 1 / self.buffer)
