"""AdaFed: unbiased weights, normalized over the available clients (Tan et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass

from ...typing import Float64s
from .base import AvailabilityContext, Strategy, strategy_registry


@strategy_registry.add("adafed")
@dataclass(frozen=True)
class AdaFed(Strategy):
    """Importance divided by availability, normalized over whoever is there (Tan et al., 2022)."""

    def weights(self, situation: AvailabilityContext) -> Float64s:
        fair = situation.fair_weights
        total = float(fair[situation.here].sum())
        return fair / total if total > 0 else fair
