"""F3AST: the clients whose participation rate lags most are chosen (Ribero, Vikalo and de Veciana, "Federated
Learning under Intermittent Client Availability and Time-Varying Communication Constraints", 2022).

At most m clients that are there take part, those with the largest alpha_k / r_k, and weigh alpha_k / r_k,

    r_k <- (1 - beta) r_k + beta 1[k is there]          (`availability`)
    r_k <- (1 - beta) r_k + beta 1[k takes part]        (`selection`).

Rates of selection make every client count alpha_k in the long run, because it takes part in a share r_k of
all rounds; rates of availability favor rare clients, which are chosen nearly whenever they are there. The
paper's own rule is that of selection, as far as is known. The comparison with CA-Fed (Rodio et al., 2023)
prints none, but its code takes rates from availability: that is the default here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...errors import unknown
from ...typing import Array, Float64s
from ..base import check_per_round
from .base import AvailabilityContext, Strategy, strategy_registry

RATES = ("availability", "selection")


@strategy_registry.add("f3ast")
@dataclass
class F3ast(Strategy):
    """The clients whose long-run rate lags their importance most; rates follow availability, or with
    `f3ast:selection` who took part."""

    rates: str = "availability"
    """What rates follow: `availability`, or `selection` (by this strategy; a sampler may draw among them)."""
    per_round: int | None = field(default=None, kw_only=True)
    """How many clients at most; 45 % of them when not given."""
    rounds: int = field(default=200, kw_only=True)
    """The rates forget over about so many rounds."""
    _rates: Float64s = field(default_factory=lambda: np.zeros(0), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.rates not in RATES:
            raise unknown("rule for rates", str(self.rates), RATES)

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
        counted = here if self.rates == "availability" else here & (weights > 0)
        self._rates = rates + (counted - rates) / self.rounds
        return weights

    def _most(self, clients: int) -> int:
        return max(1, round(0.45 * clients)) if self.per_round is None else self.per_round

    def state(self) -> dict[str, Array]:
        return {"rates": self._rates}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._rates = np.array(state["rates"])
