"""FedFix: the server aggregates at fixed times (Fraboni, Vidal, Kameni and Lorenzi, "A General Theory for
Federated Optimization with Asynchronous and Heterogeneous Clients Updates", 2023).

Every `window` units of time the server takes the results that are there. Client i reports every
c_i = ceil(tau_i / window) steps, so d_i = c_i p_i; a wide window is synchronous, a narrow one asynchronous.
Where its times T are random, it begins anew with every window in which it reports, so that

    c_i = E[ceil(T / window)] = sum_k P(T > k window),      k = 0, 1, 2, ...

and of its jobs those arrive that are not lost and not given up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ...typing import Float64s, Int64s
from ..base import Traits, timing_registry
from ..clock.hardware import ExponentialTimes, exact_time
from .base import Policy


@timing_registry.add("fedfix")
@dataclass
class FedFix(Policy):
    """The results that are there, at fixed intervals; `fedfix:0.5` aggregates twice per unit of time."""

    traits: ClassVar[Traits] = Policy.traits._replace(takes_all=True)

    window: float | Fraction = 0.5

    def grid(self) -> list[Fraction]:
        return [exact_time(self.window)]

    def width(self) -> int:
        """The ticks of the window."""
        return self.ticks(self.window)

    def wait(self) -> tuple[int, list[int]]:
        tick = self.now + self.width()
        return tick, self.arrivals(until=tick)

    def uncorrected(self, importance: Float64s) -> Float64s:
        return importance

    def frequency(self) -> Float64s | None:
        """The share of jobs that arrive over the windows that a job lasts on average."""
        if not self._losses:
            return self._undisturbed()
        if self.times.fixed:
            ticks = self._fixed_ticks()
            longest = ticks.max() if self.jobs.longest is None else self.jobs.longest
            windows = -(-np.minimum(ticks, longest) // self.width())
            return (1 - self.dropout) * (ticks <= longest) / windows
        limit = np.inf if self.timeout is None else float(self.timeout)
        lasting = self.times.mean_windows(float(self.window), limit)
        within = self.times.chance_within(limit)
        return None if lasting is None or within is None else (1 - self.dropout) * within / lasting

    def _undisturbed(self) -> Float64s | None:
        """1 / ceil(tau / window) for fixed times, and the chance to be ready in time for memoryless ones."""
        if self.times.fixed:
            return 1 / -(-self._fixed_ticks() // self.width())
        if isinstance(self.times, ExponentialTimes):
            return self.times.chance_within(float(self.window))
        windows = self.times.mean_windows(float(self.window))
        return None if windows is None else 1 / windows

    def _fixed_ticks(self) -> Int64s:
        everyone = np.arange(len(self.times.mean))
        return self.jobs.finer * self.times.ticks(everyone, np.zeros_like(everyone))
