"""Synchronous rounds: each step starts from the newest model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

import numpy as np

from .base import Draw, Step, Timing, Traits, timing_registry


@timing_registry.add("synchronous")
@timing_registry.add("sync")
@dataclass(frozen=True)
class Synchronous(Timing):
    """The server waits for the whole cohort; a round takes one unit of time."""

    traits: ClassVar[Traits] = Traits(always_fresh=True, has_clock=False)

    def steps(self, draw: Draw, first: int) -> Iterator[Step]:
        for number in count(first):
            clients, weights, _ = draw(number)
            versions = np.full(len(clients), number)
            yield Step(number, clients, versions, weights, float(number + 1), np.array([number]))
