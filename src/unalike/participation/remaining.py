"""The remaining clients after unlearning, under their old numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import ConfigError
from ..typing import ClientIds
from .base import Cohort, Participation, RoundContext
from .samplers.uniform import Full, Renormalized


class Remaining(Participation):
    """Draws as a sampler would, but never some clients; the others keep their numbers.

    >>> turn = RoundContext(0, np.array([0.5, 0.25, 0.25]))
    >>> Remaining(Full(), [0]).cohort(turn)
    Cohort(clients=array([1, 2]), weights=array([0.5, 0.5]), notes={})
    """

    def __init__(self, sampler: Full | Renormalized, gone: list[int]) -> None:
        self._sampler, self._gone = sampler, np.array(sorted(set(gone)), np.int64)

    def check(self, clients: int, rounds: int) -> None:
        """Raise where nobody remains; where fewer remain than were drawn, all of them are."""
        if len(self._gone) >= clients:
            raise ConfigError("all clients were taken out; nobody is left to train.")

    def cohort(self, turn: RoundContext) -> Cohort:
        here: ClientIds = np.setdiff1d(np.arange(len(turn.importance)), self._gone)
        inner = turn.among(here, turn.importance[here])
        drawn = self._fitting(len(here)).cohort(replace(inner, chosen_from=None))
        return Cohort(here[drawn.clients], drawn.weights, drawn.notes)

    def _fitting(self, clients: int) -> Full | Renormalized:
        sampler = self._sampler
        if isinstance(sampler, Renormalized) and sampler.per_round > clients:
            return Full()
        return sampler
