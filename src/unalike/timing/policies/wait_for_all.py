"""Synchronous rounds on real hardware: the server waits for the slowest of a cohort."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...typing import ClientIds, Float64s
from ..base import timing_registry
from .cohorts import CohortPolicy


@timing_registry.add("wait-for-all")
@dataclass
class WaitForAll(CohortPolicy):
    """Synchronous rounds on real hardware: a round takes as long as its slowest client."""

    def wait(self) -> tuple[int, list[int]]:
        return self.taken(self.arrivals())

    def correction(self, clients: ClientIds) -> Float64s:
        """Everyone arrives whose job is neither lost nor given up; real clients are taken as they come."""
        if self._real or not self._losses:
            return np.ones(len(clients))
        return super().correction(clients)

    def chance(self) -> Float64s | None:
        within = np.ones(len(self.times.mean))
        if self.timeout is not None:
            known = self.times.chance_within(float(self.timeout))
            if known is None:
                return None
            within = known
        return (1 - self.dropout) * within
