"""Available-only weights: FedAvg under intermittent availability, clients count by importance."""

from __future__ import annotations

from dataclasses import dataclass

from ...typing import Float64s
from .base import AvailabilityContext, Strategy, strategy_registry


@strategy_registry.add("fedavg")
@dataclass(frozen=True)
class AvailableOnly(Strategy):
    """Whoever is there, by importance and normalized (the usual practice; favors clients often there)."""

    def weights(self, situation: AvailabilityContext) -> Float64s:
        alpha = situation.turn.importance
        return alpha / max(float(alpha[situation.here].sum()), 1e-300)
