"""Unbiased weights alpha_k / pi_k: rarely available clients count more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import ConfigError
from ...typing import Float64s
from .base import AvailabilityContext, Strategy, check_largest, strategy_registry


@strategy_registry.add("unbiased")
@dataclass(frozen=True)
class Unbiased(Strategy):
    """Importance divided by availability: right on average, noisy where clients are rarely there."""

    largest_weight: float = np.inf
    """No client weighs more, which is a bias where it matters."""

    def __post_init__(self) -> None:
        check_largest(self.largest_weight)

    def weights(self, situation: AvailabilityContext) -> Float64s:
        return np.minimum(situation.fair_weights, self.largest_weight)


@strategy_registry.add("more-available")
@dataclass(frozen=True)
class MoreAvailable(Strategy):
    """Only clients that are there more often than not: quick, and blind to the others."""

    least: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.least < 1:
            raise ConfigError(f"least must be at least 0 and below 1, but is {self.least}.")

    def weights(self, situation: AvailabilityContext) -> Float64s:
        return np.where(situation.beliefs.active > self.least, situation.fair_weights, 0.0)
