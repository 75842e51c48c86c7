"""What if those are chosen whose rate lags most?  (F3AST: Ribero, Vikalo and de Veciana, 2022.)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...typing import Array, Float64s
from ..base import check_per_round
from .base import AvailabilityContext, Strategy, strategy_registry


@strategy_registry.add("f3ast")
@dataclass(kw_only=True)
class F3ast(Strategy):
    """The clients whose long-run rate lags their importance most (Ribero, Vikalo and de Veciana, 2022)."""

    per_round: int | None = None
    """How many clients at most; 45 % of them when not given."""
    rounds: int = 200
    """The rates forget over about so many rounds."""
    _rates: Float64s = field(default_factory=lambda: np.zeros(0), init=False, repr=False)

    def check(self, clients: int, rounds: int) -> None:
        check_per_round(self._most(clients), clients)
        self._rates = np.zeros(0)

    def weights(self, situation: AvailabilityContext) -> Float64s:
        alpha, here = situation.turn.importance, situation.here
        rates = self._rates if len(self._rates) else situation.beliefs.active.copy()
        weights = alpha / np.maximum(rates, 1e-12)
        there = np.flatnonzero(here)
        left = there[np.argsort(-weights[there], kind="stable")][self._most(len(alpha)) :]
        weights[left] = 0.0
        self._rates = rates + (here - rates) / self.rounds
        return weights

    def _most(self, clients: int) -> int:
        return max(1, round(0.45 * clients)) if self.per_round is None else self.per_round

    def state(self) -> dict[str, Array]:
        return {"rates": self._rates}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._rates = np.array(state["rates"])
