"""Asynchronous federated averaging: one result, one step.

Client i reports every tau_i, so its share of all steps is f_i = (1 / tau_i) / sum_j (1 / tau_j), and
d_i = p_i / f_i makes every client count as it should.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...typing import Float64s
from ..base import Traits, timing_registry
from .base import Policy


@timing_registry.add("asynchronous")
@timing_registry.add("async")
@dataclass
class Asynchronous(Policy):
    """Every result is taken as soon as it is there."""

    traits: ClassVar[Traits] = Policy.traits._replace(takes_all=True)

    def wait(self) -> tuple[int, list[int]]:
        return self.taken(self.arrivals(count=1))

    def uncorrected(self, importance: Float64s) -> Float64s:
        return np.ones(len(importance))

    def frequency(self) -> Float64s | None:
        if self._losses:  # who lost a job waits for the next step, which depends on all others
            return None
        return (1 / self.times.mean) / (1 / self.times.mean).sum()
