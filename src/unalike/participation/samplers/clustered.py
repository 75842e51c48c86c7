"""Clustered sampling: a round's clients are drawn from m distributions.

Fraboni, Vidal, Kameni and Lorenzi ("Clustered Sampling: Low-Variance and Improved Representativity for
Clients Selection in Federated Learning", 2021) draw one client from each of m distributions r_k whose mean is
the importance p; each draw weighs 1/m. No client's variance exceeds that of multinomial sampling, and none is
present less often:

    Var[omega_i] = p_i (1 - p_i) / m - (sum_k r_ki^2 - m p_i^2) / m^2.

Groups by class need an oracle (:class:`Target`). `clustered_size.py` groups clients by their sizes,
`clustered_data.py` and `clustered_similarity.py` clients whose data or updates are alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Array, ClientIds, Float64s
from ..base import Cohort, RoundContext
from .base import Once, SizedSampler, count_draws, sampler_registry
from .distributions import ClusterDistributions, integer_sizes
from .statistics import WeightStatistics

EQUAL = 1e-9
"""How far m times the importance of a class may be from one."""


@dataclass(frozen=True, kw_only=True)
class Clustered(SizedSampler):
    """One draw from each of m distributions; a new scheme is a new :meth:`line`."""

    sizes: ArrayLike | None = field(default=None, repr=False, compare=False)
    """The clients' numbers of samples; where importance is in proportion to them, nothing is rounded."""
    seed: int = 0
    """Of the order of clients that are equal otherwise."""
    _line: Once[ClusterDistributions] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        """Ask for the line again at the next draw."""
        object.__setattr__(self, "_line", Once(self.line))

    def check(self, clients: int, rounds: int) -> None:
        super().check(clients, rounds)
        check_length("sizes", self.sizes, clients)

    def line(self, importance: Float64s) -> ClusterDistributions:
        """The distributions for these importances."""
        raise NotImplementedError(f"{type(self).__name__} must implement line().")

    def draw(self, importance: Float64s, rng: np.random.Generator) -> Cohort:
        return count_draws(self._line(importance).draw(rng), 1 / self.per_round)

    def matrix(self, importance: Float64s) -> Float64s:
        """The distributions, one per row."""
        return self._line(importance).matrix()

    def statistics(self, importance: Float64s) -> WeightStatistics:
        return self._line(importance).statistics(importance)


@sampler_registry.add("target")
@dataclass(frozen=True, kw_only=True)
class Target(Clustered):
    """One client of each class, known from an oracle; needs m classes of equal importance."""

    labels: Array | None = field(default=None, repr=False, compare=False)
    """The class of each client."""

    def check(self, clients: int, rounds: int) -> None:
        super().check(clients, rounds)
        check_length("labels", self._labels(), clients)

    def cohort(self, turn: RoundContext) -> Cohort:
        if turn.chosen_from is None:
            return self.draw(turn.importance, turn.rng)
        here = replace(self, sizes=None, labels=self._labels()[turn.clients])
        return here.draw(turn.importance, turn.rng)

    def line(self, importance: Float64s) -> ClusterDistributions:
        """The clients of the first class, then of the second, and so on."""
        amounts = self.per_round * integer_sizes(importance, self.per_round, self.sizes)
        length = int(amounts.sum()) // self.per_round
        order = []
        for members in self._classes(importance):
            # Rounding may leave a class some units too long or too short for its stretch.
            amounts[members[np.argmax(amounts[members])]] += length - amounts[members].sum()
            order.append(members[amounts[members] > 0])
        clients = np.concatenate(order)
        return ClusterDistributions(clients, amounts[clients], self.per_round, len(importance))

    def _classes(self, importance: Float64s) -> list[ClientIds]:
        """The clients of each class, if all classes are equally important."""
        labels, m = self._labels(), self.per_round
        check_length("labels", labels, len(importance))
        names, which = np.unique(labels, return_inverse=True)
        if len(names) != m:
            raise ConfigError(
                f"target sampling draws one client per class; there are {len(names)} classes, "
                f"but per_round is {m}."
            )
        masses = np.bincount(which, importance)
        if wrong := np.flatnonzero(np.abs(m * masses - 1) > EQUAL).tolist():
            found = ", ".join(f"class {names[k]} has {masses[k]:.6g}" for k in wrong[:5])
            raise ConfigError(f"target sampling needs classes of importance 1/{m} each, but {found}.")
        return [np.flatnonzero(which == k) for k in range(m)]

    def _labels(self) -> Array:
        if self.labels is None:
            raise ConfigError("target sampling needs the class of each client, as labels.")
        return np.asarray(self.labels)


def check_length(name: str, given: ArrayLike | None, clients: int) -> None:
    """Whether there is one of these for each client (or none at all)."""
    if given is not None and np.shape(given) != (clients,):
        raise ConfigError(f"{name} needs one entry per client ({clients}), but has shape {np.shape(given)}.")
