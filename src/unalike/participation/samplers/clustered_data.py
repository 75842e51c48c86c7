"""Clustered sampling by the similarity of clients' data.

Clustered sampling (Fraboni, Vidal, Kameni and Lorenzi, "Clustered Sampling: Low-Variance and Improved
Representativity for Clients Selection in Federated Learning", 2021) with groups that are known before the
first round: every client has sent one message, the first principal direction of its rows (E. Buttaci, "Does
Perturbation Aid Convergence?", MSc thesis, Politecnico di Torino), and Ward's tree joins those with small

    ||m_i - m_j|| = 2 sqrt(mis(i, j)).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import scipy

from ...core.random import bits
from ...errors import ConfigError
from ...typing import Array, ClientIds, Float64s
from ..base import Cohort, RoundContext
from .base import sampler_registry
from .clustered import Clustered
from .distributions import ClusterDistributions, integer_sizes
from .similarity import FINE, by_mass, constrained_cut, fill, similarity_tree, split_oversized

MOST_CLIENTS = 4000
"""That are compared in pairs."""


@sampler_registry.add("clustered-data")
@dataclass(frozen=True, kw_only=True)
class ClusteredByData(Clustered):
    """One from each of m groups of clients with similar features; weights count/m, unbiased, summing to one.

    >>> kinds = np.array([[1.0, 0.0], [0.0, 1.0], [0.96, 0.28], [0.28, 0.96]])
    >>> sampler = ClusteredByData(per_round=2, messages=kinds)
    >>> sorted(group.tolist() for group in sampler.groups(np.full(4, 0.25)))
    [[0, 2], [1, 3]]
    """

    messages: Array | None = field(default=None, repr=False, compare=False)
    """The direction of each client's rows, one per row; zeros for who has none."""

    def check(self, clients: int, rounds: int) -> None:
        super().check(clients, rounds)
        if clients > MOST_CLIENTS:
            raise ConfigError(
                f"clustered-data compares all clients, at most {MOST_CLIENTS:,}, but there are {clients:,}; "
                "take clustered-size."
            )
        if len(self._messages()) != clients:
            raise ConfigError(
                f"messages needs one row per client ({clients}), but has {len(self._messages())}."
            )

    def cohort(self, turn: RoundContext) -> Cohort:
        if turn.chosen_from is None:
            return self.draw(turn.importance, turn.rng)
        here = replace(self, sizes=None, messages=self._messages()[turn.clients])
        return here.draw(turn.importance, turn.rng)

    def line(self, importance: Float64s) -> ClusterDistributions:
        """Groups of similar clients, cut so that each fits into a distribution."""
        order, amounts, groups = self._cut(importance)
        line = fill(groups, amounts, self.per_round)
        return replace(line, clients=order[line.clients])

    def groups(self, importance: Float64s) -> list[ClientIds]:
        """The groups of similar clients, heaviest first (what clients hold beside whole distributions)."""
        order, amounts, groups = self._cut(importance)
        rest = split_oversized(amounts, self.per_round)[1]
        return [np.sort(order[group]) for group in by_mass(groups, rest)]

    def _cut(self, importance: Float64s) -> tuple[ClientIds, ClientIds, list[ClientIds]]:
        """Clients in a random order, which decides between equals; their amounts; and their groups."""
        order = np.argsort(bits(self.seed, "data ties", np.arange(len(importance))))
        amounts = self.per_round * integer_sizes(importance, self.per_round, self.sizes)[order]
        rest, length = split_oversized(amounts, self.per_round)[1], int(amounts.sum()) // self.per_round
        tree = similarity_tree(
            scipy.spatial.distance.squareform(scipy.spatial.distance.pdist(self._messages()[order])),
            "condensed",
        )
        return order, amounts, constrained_cut(tree, rest, length + length // FINE)

    def _messages(self) -> Array:
        if self.messages is None:
            raise ConfigError("clustered-data sampling needs a message of each client, as messages.")
        return np.asarray(self.messages, np.float64)
