"""What if the server aggregates by the clock?  (FedFix: Fraboni, Vidal, Kameni and Lorenzi, "A General
Theory for Federated Optimization with Asynchronous and Heterogeneous Clients Updates", 2023.)

Every `window` units of time the server takes the results that are there. Client i reports every
c_i = ceil(tau_i / window) steps, so d_i = c_i p_i; a wide window is synchronous, a narrow one asynchronous.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .base import timings
from .hardware import exact_time
from .policy import Floats, Policy


@timings.add("fedfix")
@dataclass
class FedFix(Policy):
    """The results that are there, at fixed intervals; `fedfix:0.5` aggregates twice per unit of time."""

    window: float | Fraction = 0.5

    def grid(self) -> list[Fraction]:
        return [exact_time(self.window)]

    def wait(self) -> tuple[int, list[int]]:
        tick = self.now + self.ticks(self.window)
        return tick, self.arrivals(until=tick)

    def uncorrected(self, importance: Floats) -> Floats:
        return importance

    def frequency(self) -> Floats | None:
        """1 / ceil(tau / window) for fixed times, and the chance to be ready in time for memoryless ones."""
        from .hardware import ExponentialTimes

        if self.times.fixed:
            everyone = np.arange(len(self.times.mean))
            ticks = self.flight.finer * self.times.ticks(everyone, np.zeros_like(everyone))
            return 1 / -(-ticks // self.ticks(self.window))
        if isinstance(self.times, ExponentialTimes):
            return self.times.chance_within(float(self.window))
        return None
