"""Cohort similarity: how homogeneous are a round's clients, compared with all clients?

Samplers and availability choose clients; if those who are chosen are more alike than all are, rounds see only
a part of what there is (biased participation). For every round, with C_t its clients,

    hom_t = mean_{i != j in C_t} A_ij / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.similarity import Similarity
from ..data.similarity.homogeneity import subset_homogeneity
from ..participation import Participation
from ..participation.base import RoundContext
from ..typing import ClientIds, Document, Float64s


@dataclass(frozen=True, eq=False)
class CohortSimilarity:
    """Homogeneity round by round; not a number where fewer than two compared clients take part."""

    everyone: float
    cohorts: Float64s
    available: Float64s | None = None
    """Among those who were there, where clients come and go."""

    def summary(self) -> dict[str, float | None]:
        """Means and standard deviations over rounds, ready for JSON."""
        return {
            "everyone": self.everyone,
            "cohort_mean": _mean(self.cohorts),
            "cohort_deviation": float(np.nanstd(self.cohorts)) if np.isfinite(self.cohorts).any() else None,
            "available_mean": None if self.available is None else _mean(self.available),
            "rounds": len(self.cohorts),
        }

    def as_dict(self) -> Document:
        """The same and every round, ready for JSON; None where fewer than two took part."""
        return {
            **self.summary(),
            "by_round": _to_list(self.cohorts),
            "available_by_round": None if self.available is None else _to_list(self.available),
        }


def measure_cohorts(
    found: Similarity, participation: Participation, importance: Float64s, rounds: int, seed: int = 0
) -> CohortSimilarity:
    """Draw cohorts as a run with this seed would, without training, and measure each."""
    participation.check(len(importance), rounds)
    drawn: list[ClientIds] = []
    there: list[ClientIds] = []
    for number in range(rounds):
        cohort = participation.cohort(RoundContext(number, importance, seed))
        drawn.append(_places(found, cohort.clients))
        if "available" in cohort.notes:
            there.append(_places(found, cohort.notes["available"]))
    return CohortSimilarity(
        found.homogeneity,
        subset_homogeneity(found.weights, drawn),
        subset_homogeneity(found.weights, there) if len(there) == rounds else None,
    )


def _places(found: Similarity, clients: ClientIds) -> ClientIds:
    """The rows of these clients in the graph, of those that are in it."""
    return np.flatnonzero(np.isin(found.compared, clients))


def _to_list(values: Float64s) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _mean(values: Float64s) -> float | None:
    return float(np.nanmean(values)) if np.isfinite(values).any() else None
