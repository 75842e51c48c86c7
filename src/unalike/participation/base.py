"""The participation interface: who takes part in a round, with which weights?

A participation is asked for a :class:`Cohort` each round: clients and the weights of their uploads. It is
told a :class:`RoundContext`: the round's number, what each client should weigh on average, randomness of its
own, and a way to ask clients something before choosing (their loss, the length of their update).

Most are samplers (see :class:`unalike.participation.Sampler`); an intermittent participation puts
availability and a weighting strategy in front of a sampler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..core.random import generator
from ..errors import ConfigError
from ..typing import Array, ClientIds, Float64s

Ask = Callable[[str, ClientIds], Float64s]
"""`ask("loss", clients)`: the loss of the current model at these clients, over all their rows;
`ask("batch_loss", clients)`: over the mini-batch with which they would begin; `ask("update_norm", clients)`:
how far each would move it. Clients go by their number in the federation."""


class Cohort(NamedTuple):
    """The clients of a round (distinct, by number) and the weights of their uploads."""

    clients: ClientIds
    weights: Float64s
    notes: Mapping[str, ClientIds] = {}
    """Groups of clients worth recording, such as `available` and `excluded`."""


def nobody_answers(question: str, clients: ClientIds) -> Float64s:
    """Outside training there are no clients to ask."""
    raise ConfigError(f"this participation asks clients for their {question}; it works in training only.")


@dataclass(frozen=True)
class RoundContext:
    """One round, as a participation sees it.

    >>> turn = RoundContext(0, np.array([0.5, 0.3, 0.2]))
    >>> turn.among(np.array([1, 2]), np.array([0.3, 0.2])).importance
    array([0.6, 0.4])
    """

    number: int
    importance: Float64s
    """What each client should weigh on average; sums to one."""
    seed: int = 0
    ask: Ask = nobody_answers
    chosen_from: ClientIds | None = None
    """The federation's numbers of the clients that `importance` speaks of; None means all of them."""

    @cached_property
    def rng(self) -> np.random.Generator:
        """This round's own randomness."""
        return self.generator("participation")

    def generator(self, purpose: str) -> np.random.Generator:
        """Randomness for one purpose of this round, whatever else is drawn."""
        return generator(self.seed, purpose, self.number)

    @property
    def clients(self) -> ClientIds:
        """The federation's numbers of the clients to choose from."""
        return np.arange(len(self.importance)) if self.chosen_from is None else self.chosen_from

    def among(self, positions: ClientIds, weights: Float64s) -> RoundContext:
        """The same round with fewer clients to choose from, in proportion to positive weights."""
        return replace(self, importance=weights / weights.sum(), chosen_from=self.clients[positions])


class Participation:
    """Chooses a cohort each round."""

    asks: tuple[str, ...] = ()
    """What it asks clients before choosing: `loss`, `batch_loss` or `update_norm`."""
    watches: tuple[str, ...] = ()
    """What it wants to see of every upload beside the reports: `update` (the change, as one vector)."""

    def cohort(self, turn: RoundContext) -> Cohort:
        """The cohort of a round; rounds are asked for in order."""
        raise NotImplementedError(f"{type(self).__name__} must implement cohort().")

    def cohort_size(self, clients: int) -> int:
        """How many of so many clients a cohort has, exactly or on average; at most, where that varies."""
        return clients

    def fit(self, local_minima: Callable[[], Float64s]) -> Participation:
        """The participation, told what it must know of the clients before a run; `local_minima()` trains each
        of them alone and returns its smallest loss."""
        return self

    def check(self, clients: int, rounds: int) -> None:
        """Get ready for a run: raise if it cannot serve that many clients or rounds, forget earlier runs."""

    def observe(self, round: int, cohort: Cohort, reports: Mapping[str, Array]) -> None:
        """Learn from what the cohort reported (nothing, by default)."""

    @property
    def everyone(self) -> bool:
        """Whether every round's cohort is all clients, with their importances as weights."""
        return False

    @property
    def remembers(self) -> bool:
        """Whether it has a state, so that no round may be drawn twice."""
        return type(self).state is not Participation.state

    @property
    def learns(self) -> bool:
        """Whether :meth:`observe` does anything."""
        return type(self).observe is not Participation.observe

    def state(self) -> dict[str, Array]:
        """What must be saved so that a resumed run draws the same cohorts."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """The inverse of :meth:`state`."""


def check_per_round(per_round: int, clients: int) -> None:
    """Whether that many clients can be drawn."""
    if not 1 <= per_round <= clients:
        raise ConfigError(
            f"per_round must be between 1 and the number of clients ({clients}), but is {per_round}."
        )


def check_cohort(cohort: Cohort, clients: int) -> Cohort:
    """The same cohort, if its clients exist, are distinct, and have one weight each (or a column of them)."""
    chosen, weights = cohort.clients, cohort.weights
    if len(chosen) and not (min(chosen) >= 0 and max(chosen) < clients):
        wrong = min(chosen) if min(chosen) < 0 else max(chosen)
        raise ConfigError(f"a cohort names client {wrong} of {clients}; they are numbered from 0.")
    if len(np.unique(chosen)) < len(chosen):
        raise ConfigError("a cohort names a client twice; add its weights up instead.")
    if weights.shape[-1:] != (len(chosen),) or not np.isfinite(weights).all():
        raise ConfigError(f"a cohort of {len(chosen)} clients needs as many finite weights.")
    return cohort
