"""The sampler interface (client sampling).

A :class:`Sampler` draws clients with random weights whose mean is known: the importance, for an unbiased one.
A user's own is a class with two methods, `draw` and `statistics`. After set-up, drawing costs the size of the
cohort (times a logarithm), not the size of the population.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from ...core.random import generator
from ...core.registry import Registry
from ...typing import Float64s
from ..base import Cohort, Participation, RoundContext, check_per_round
from .statistics import WeightStatistics

T = TypeVar("T")
sampler_registry: Registry[Sampler] = Registry("sampling", "samplers")


class Sampler(Participation):
    """Draws a cohort from importances.

    >>> from unalike.participation import Cohort, Sampler, WeightStatistics
    >>> class Newest(Sampler):
    ...     "Always the last client."
    ...     def draw(self, importance, rng):
    ...         return Cohort(np.array([len(importance) - 1]), np.ones(1))
    ...     def statistics(self, importance):
    ...         sure = (np.arange(len(importance)) == len(importance) - 1).astype(float)
    ...         return WeightStatistics(importance, sure, 0 * sure, sure, 0.0)
    >>> Newest().statistics(np.array([0.5, 0.5])).unbiased
    False
    """

    def draw(self, importance: Float64s, rng: np.random.Generator) -> Cohort:
        """Some clients and their weights; `importance` is what the weights should be on average."""
        raise NotImplementedError(f"{type(self).__name__} must implement draw().")

    def statistics(self, importance: Float64s) -> WeightStatistics:
        """The exact moments of the weights."""
        raise NotImplementedError(f"{type(self).__name__} does not know its weights' moments.")

    def cohort(self, turn: RoundContext) -> Cohort:
        return self.draw(turn.importance, turn.rng)


@dataclass(frozen=True, kw_only=True)
class SizedSampler(Sampler):
    """A sampler of `per_round` clients, exactly or on average."""

    per_round: int

    def cohort_size(self, clients: int) -> int:
        return min(self.per_round, clients)

    def check(self, clients: int, rounds: int) -> None:
        check_per_round(self.per_round, clients)


def check_draw(who: Participation, importance: Float64s, seed: int) -> None:
    """Raise if a sampler cannot draw by these importances: some find that out only when they draw."""
    remembers = who.remembers
    if isinstance(who, Sampler) and type(who).draw is not Sampler.draw and not who.asks and not remembers:
        who.draw(importance, generator(seed, "check"))


class Once(Generic[T]):
    """A function of an array that is computed again only for another array.

    >>> doubled = Once(lambda a: 2 * a)
    >>> numbers = np.array([1, 2])
    >>> doubled(numbers) is doubled(numbers)
    True
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function, self._array = function, None
        self._answer: T | None = None

    def __call__(self, array: Any) -> T:
        if array is not self._array:
            self._answer, self._array = self._function(array), array
        return self._answer  # type: ignore[return-value]


def count_draws(drawn: Any, weight: float) -> Cohort:
    """The cohort of clients drawn with repetition: each trains once and weighs as often as it was drawn."""
    clients, counts = np.unique(drawn, return_counts=True)
    return Cohort(clients.astype(np.int64), counts.astype(np.float64) * weight)
