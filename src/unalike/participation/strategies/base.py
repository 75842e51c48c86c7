"""How should clients weigh that are not always there?

With weights q_k for whoever is there, training minimises sum_k p_k F_k with p_k in proportion to pi_k q_k,
where pi_k is how often client k is there (Rodio, Faticanti, Marfoq, Neglia and Leonardi, "Federated Learning
under Heterogeneous and Correlated Client Availability", 2023). It is the objective one wants only if q_k is
in proportion to alpha_k / pi_k, and those weights are noisy. Every strategy is a compromise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Array, Bools, Float64s
from ..base import RoundContext, check_per_round
from ..beliefs import Beliefs

strategy_registry: Registry[Strategy] = Registry("participation")


@dataclass(frozen=True)
class AvailabilityContext:
    """One round with some clients away."""

    turn: RoundContext
    here: Bools
    """Whether each client is there."""
    beliefs: Beliefs
    """What is believed of each client's availability."""

    @property
    def fair_weights(self) -> Float64s:
        """alpha_k / pi_k, the weights that are right on average."""
        return self.turn.importance / np.maximum(self.beliefs.active, 1e-12)


class Strategy:
    """Weighs clients by how often they are there."""

    asks: tuple[str, ...] = ()
    """What it asks the clients that are there, such as `loss`."""

    @property
    def needs_local_minima(self) -> bool:
        """Whether it should be told each client's smallest loss before a run."""
        return False

    def with_local_minima(self, minima: Float64s) -> Strategy:
        """The same strategy, told each client's smallest loss (where it asks for that)."""
        return self

    def weights(self, situation: AvailabilityContext) -> Float64s:
        """A weight for every client, used if it is there; zero excludes it."""
        raise NotImplementedError(f"{type(self).__name__} does not say how clients weigh.")

    def check(self, clients: int, rounds: int) -> None:
        """Get ready for a run: raise if it cannot serve that many clients or rounds, forget earlier runs."""

    def state(self) -> dict[str, Array]:
        """What must be saved so that a resumed run goes on alike."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """The inverse of :meth:`state`."""


@strategy_registry.add("fedavg")
@dataclass(frozen=True)
class AvailableOnly(Strategy):
    """Whoever is there, by importance and normalised (the usual practice; favours clients often there)."""

    def weights(self, situation: AvailabilityContext) -> Float64s:
        alpha = situation.turn.importance
        return alpha / max(float(alpha[situation.here].sum()), 1e-300)


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


@strategy_registry.add("adafed")
@dataclass(frozen=True)
class AdaFed(Strategy):
    """Importance divided by availability, normalised over whoever is there (Tan et al., 2022)."""

    def weights(self, situation: AvailabilityContext) -> Float64s:
        fair = situation.fair_weights
        total = float(fair[situation.here].sum())
        return fair / total if total > 0 else fair


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


def check_largest(value: float) -> None:
    """Whether a largest weight leaves anyone."""
    if not value > 0:
        raise ConfigError(f"largest_weight must be positive, but is {value}.")


def check_positive(name: str, value: float) -> None:
    """Whether a setting is at least zero."""
    if not value >= 0:
        raise ConfigError(f"{name} must not be negative, but is {value}.")
