"""The strategy interface: weights of intermittent clients.

With weights q_k for whoever is there, training minimizes sum_k p_k F_k with p_k in proportion to pi_k q_k,
where pi_k is how often client k is there (Rodio, Faticanti, Marfoq, Neglia and Leonardi, "Federated Learning
under Heterogeneous and Correlated Client Availability", 2023). It is the objective one wants only if q_k is
in proportion to alpha_k / pi_k, and those weights are noisy. Every strategy is a compromise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Array, Bools, Float64s
from ..base import RoundContext
from ..beliefs import Beliefs

strategy_registry: Registry[Strategy] = Registry("participation", "participation")


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
        raise NotImplementedError(f"{type(self).__name__} must implement weights().")

    def check(self, clients: int, rounds: int) -> None:
        """Get ready for a run: raise if it cannot serve that many clients or rounds, forget earlier runs."""

    def state(self) -> dict[str, Array]:
        """What must be saved so that a resumed run goes on alike."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """The inverse of :meth:`state`."""


def check_largest(value: float) -> None:
    """Whether a largest weight leaves anyone."""
    if not value > 0:
        raise ConfigError(f"largest_weight must be positive, but is {value}.")


def check_positive(name: str, value: float) -> None:
    """Whether a setting is at least zero."""
    if not value >= 0:
        raise ConfigError(f"{name} must not be negative, but is {value}.")
