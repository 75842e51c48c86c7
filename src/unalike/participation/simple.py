"""What are the two simplest ways to take part?  (Everyone, or a uniform draw without replacement.)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import ConfigError
from .base import Cohort, Participation, participations


@participations.add("full")
@dataclass(frozen=True)
class Full(Participation):
    """Every client, every round, weighted by importance."""

    def draw(self, round: int, importance: NDArray[np.float64], rng: np.random.Generator) -> Cohort:
        return Cohort(np.arange(len(importance)), importance)


@participations.add("uniform")
@dataclass(frozen=True)
class Uniform(Participation):
    """`per_round` clients, uniformly without replacement, weighted by importance within the cohort."""

    per_round: int
    unbiased: bool = False
    """Weights n/m * importance, right on average but not summing to one, instead of normalised ones."""

    def draw(self, round: int, importance: NDArray[np.float64], rng: np.random.Generator) -> Cohort:
        check_per_round(self.per_round, len(importance))
        clients = np.sort(rng.choice(len(importance), self.per_round, replace=False))
        weights = importance[clients]
        if self.unbiased:
            return Cohort(clients, weights * (len(importance) / self.per_round))
        return Cohort(clients, weights / weights.sum())


def check_per_round(per_round: int, clients: int) -> None:
    """Whether that many clients can be drawn."""
    if not 1 <= per_round <= clients:
        raise ConfigError(
            f"per_round must be between 1 and the number of clients ({clients}), but is {per_round}."
        )


def check_cohort(cohort: Cohort, clients: int) -> Cohort:
    """The same cohort, if its clients exist, are distinct, and have one weight each (or a column of them)."""
    chosen, weights = cohort
    if len(chosen) and not (min(chosen) >= 0 and max(chosen) < clients):
        raise ConfigError(f"a cohort names client {max(chosen)} of {clients}; they are numbered from 0.")
    if len(np.unique(chosen)) < len(chosen):
        raise ConfigError("a cohort names a client twice; add its weights up instead.")
    if weights.shape[-1:] != (len(chosen),) or not np.isfinite(weights).all():
        raise ConfigError(f"a cohort of {len(chosen)} clients needs as many finite weights.")
    return cohort
