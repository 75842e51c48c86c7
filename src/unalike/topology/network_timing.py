"""Training on an overlay: rounds with the network's simulated clock.

A design (an overlay, or random ones) says who averages with whom in every round; the network says how long
the transfers take. A silo starts its next round when it has heard all its neighbors:

    t_i(k + 1)  =  max over the neighbors j that i hears, and i itself, of  t_j(k) + delay(j, i)

The clock shows the mean over silos, in seconds. Training does not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import ClassVar

import numpy as np

from ..errors import ConfigError
from ..timing.base import Clients, Draw, Step, Timing, Traits
from ..typing import Float64s
from .column_stochastic import pushing
from .overlay import Design, design
from .underlays.connectivity import Connectivity

BLOCK = 256
"""Rounds whose times are computed at once."""


class OnNetwork(Timing):
    """Everyone works every round and averages on an overlay; the clock is that of the network.

    The overlay is a design, or the name of one (`ring`). With `own_size` models are as large as those that
    are trained; otherwise as large as the network's workload says. With `push` silos split what they have
    among those they send to (columns sum to one), as push-sum needs; else rows sum to one.
    """

    traits: ClassVar[Traits] = Traits(mixes_by_matrix=True)

    def __init__(
        self, overlay: str | Design, connectivity: Connectivity, *, push: bool = False, own_size: bool = False
    ) -> None:
        self.overlay, self.connectivity, self.push, self.own_size = overlay, connectivity, push, own_size
        self._seconds = np.zeros(1)

    def begin(self, clients: Clients) -> None:
        """Check that there is a client on every silo, and design the overlay."""
        silos = len(self.connectivity)
        if len(clients.importance) != silos:
            raise ConfigError(
                f"the network has {silos} silos, but there are {len(clients.importance)} clients."
            )
        if self.own_size and clients.bytes_up:
            self.connectivity = replace(self.connectivity, bits=8.0 * clients.bytes_up)
        self.design = self._designed(clients.seed)
        self._seconds = np.zeros(1)

    def steps(self, draw: Draw, first: int) -> Iterator[Step]:
        everyone = np.arange(len(self.connectivity))
        for number in count(first):
            yield Step(
                number,
                everyone,
                np.full(len(everyone), number),
                self.matrix(number),
                self.clock(number + 1),
                np.array([number]),
                messages=self.design.messages,
            )

    def _designed(self, seed: int) -> Design:
        if isinstance(self.overlay, str):
            return design(self.overlay, self.connectivity, seed)
        return self.overlay

    def matrix(self, number: int) -> Float64s:
        """Receivers by senders: the weights of a round."""
        weights = self.design.mixing(number)
        return pushing(weights) if self.push else weights

    def clock(self, rounds: int) -> float:
        """Seconds until so many rounds are over, on average over silos."""
        if rounds >= len(self._seconds):
            ahead = max(2 * len(self._seconds), rounds + BLOCK)
            self._seconds = self.design.times(self.connectivity, ahead).mean(axis=1) / 1000.0
        return float(self._seconds[rounds])
