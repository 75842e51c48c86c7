"""Cohort policies: what policies that wait for a cohort have in common.

A cohort is drawn and sent the newest model. The server waits for everyone; or until a deadline, after which
late clients are given up or their results come later, from an older model; or for the first so many of a
cohort that was drawn larger than needed. Who is slow arrives more rarely, so weights are corrected by how
often drawn clients arrive. That is counted by weight: who is drawn in a small cohort weighs more and arrives
more easily, so that a plain share of arrivals would correct too much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...typing import Array, ClientIds, Float64s
from ..base import Clients, Traits
from .base import Policy

_COUNTED = ("sent", "came", "first")


@dataclass
class CohortPolicy(Policy):
    """A cohort of which some arrive; how often drawn clients do is counted."""

    traits: ClassVar[Traits] = Policy.traits._replace(by_cohort=True)

    def begin(self, clients: Clients) -> None:
        super().begin(clients)
        self.sent, self.came, self.first = np.zeros((3, len(clients.importance)))
        """What each client weighed in all when it was drawn and when it came, in units of what it weighed
        first."""

    def chosen(self, clients: ClientIds, weights: Float64s) -> None:
        self.first[clients] = np.where(self.first[clients] > 0, self.first[clients], weights)
        self.sent[clients] += self._units(clients, weights)

    def _units(self, clients: ClientIds, weights: Float64s) -> Float64s:
        """Weights in units of each client's first one: exactly one where they are always the same."""
        first = self.first[clients]
        return np.where(first > 0, weights / np.where(first > 0, first, 1.0), 1.0)

    def correction(self, clients: ClientIds) -> Float64s:
        """One over the chance that a drawn client arrives: known, or counted with one success and one job
        more."""
        self.came[clients] += self._units(clients, self.drawn[clients])
        if self.weights == "identical":
            return np.ones(len(clients))
        known = self.chance() if self.weights == "corrected" else None
        chance = (self.came + 1) / (self.sent + 1) if known is None else known
        return np.minimum(1 / np.maximum(chance[clients], 1e-6), self.largest_weight)

    def leave_late(self) -> None:
        """Give up the jobs that are still under way."""
        late = np.array(sorted(self.jobs.working()), np.int64)
        self.jobs.cancel(late)
        self.give_up(late)

    def chance(self) -> Float64s | None:
        """The probability that each drawn client's result is taken, lost ones included, where it is known."""
        return None

    def state(self) -> dict[str, Array]:
        return {**super().state(), **{name: getattr(self, name).copy() for name in _COUNTED}}

    def restore(self, state: Mapping[str, Array]) -> None:
        super().restore(state)
        for name in _COUNTED:
            if name in state:  # runs of earlier versions did not count, or not by weight
                setattr(self, name, np.array(state[name]))
