"""Intermittent participation: availability, strategy and sampler in a chain.

Three questions are answered one after the other: who is there (availability), how much should each of them
weigh (a strategy), and which of them are drawn (a sampler, which keeps those weights on average). A round
without clients is recorded and changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import ConfigError
from ..typing import Array, ClientIds, Float64s
from .availability import Availability
from .base import Cohort, Participation, RoundContext
from .beliefs import Beliefs, Estimated
from .samplers.base import Sampler
from .strategies.available_only import AvailableOnly
from .strategies.base import AvailabilityContext, Strategy


class Intermittent(Participation):
    """Clients that are there, weighted by a strategy, some of them drawn by a sampler.

    Beliefs about availability are estimated online, in every run anew. Where some are given, every run starts
    from those: from the truth (:class:`Known`), or from what was seen before (:class:`Estimated`).

    >>> from unalike.participation import Intermittent, Markov, Unbiased
    >>> chain = Markov(np.full(4, 0.5), np.full(4, 0.9))
    >>> cohort = Intermittent(chain, Unbiased()).cohort(RoundContext(0, np.full(4, 0.25)))
    >>> sorted(cohort.notes)
    ['available', 'excluded']
    """

    def __init__(
        self,
        availability: Availability,
        strategy: Strategy | None = None,
        sampler: Sampler | None = None,
        beliefs: Beliefs | None = None,
    ) -> None:
        self.availability, self.strategy = availability, strategy or AvailableOnly()
        self.sampler = sampler
        self.beliefs = beliefs or Estimated(len(availability.active))
        self._given = beliefs
        self.asks = (*self.strategy.asks, *(sampler.asks if sampler else ()))
        self.watches = sampler.watches if sampler else ()

    @property
    def learns(self) -> bool:
        return self.sampler is not None and self.sampler.learns

    def fit(self, local_minima: Callable[[], Float64s]) -> Intermittent:
        """The same participation; its strategy knows each client's smallest loss if it compares with it."""
        if not self.strategy.needs_local_minima:
            return self
        strategy = self.strategy.with_local_minima(local_minima())
        return Intermittent(self.availability, strategy, self.sampler, self._given)

    def check(self, clients: int, rounds: int) -> None:
        for part in (self.availability, self.strategy, self.sampler):
            if part is not None:
                part.check(clients, rounds)
        # A copy, so that one run does not teach the next.
        self.beliefs = Estimated(clients) if self._given is None else copy.deepcopy(self._given)
        if len(self.beliefs.active) != clients:
            raise ConfigError(
                f"beliefs speak of {len(self.beliefs.active)} clients, but there are {clients}."
            )

    def cohort(self, turn: RoundContext) -> Cohort:
        here = self.availability.present(turn.number, turn.generator("availability"))
        self.beliefs.see(here)
        weights = self.strategy.weights(AvailabilityContext(turn, here, self.beliefs))
        excluded = np.flatnonzero((weights <= 0) & (turn.importance > 0))
        notes = {"available": np.flatnonzero(here), "excluded": excluded}
        clients = np.flatnonzero(here & (weights > 0))
        return Cohort(*self._drawn(turn, clients, weights[clients]), notes)

    def _drawn(self, turn: RoundContext, clients: ClientIds, weights: Float64s) -> tuple[ClientIds, Float64s]:
        """All of them, or some whose weights are the same on average."""
        if self.sampler is None or not len(clients):
            return clients, weights
        drawn = self.sampler.cohort(turn.among(clients, weights))
        return clients[drawn.clients], drawn.weights * weights.sum()

    def observe(self, round: int, cohort: Cohort, reports: Mapping[str, Array]) -> None:
        if self.sampler is not None:
            self.sampler.observe(round, cohort, reports)

    def state(self) -> dict[str, Array]:
        return {f"{name}.{key}": value for name, part in self._parts() for key, value in part.state().items()}

    def restore(self, state: Mapping[str, Array]) -> None:
        for name, part in self._parts():
            prefix = f"{name}."
            part.restore({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})

    def _parts(self) -> list[tuple[str, Any]]:
        parts = {
            "availability": self.availability,
            "strategy": self.strategy,
            "sampler": self.sampler,
            "beliefs": self.beliefs,
        }
        return [(name, part) for name, part in parts.items() if part is not None]
