"""Gossip: decentralized rounds in which every client works, then mixes with its neighbors.

theta_t  <-  sum_s W[t, s] theta_s        with a matrix W that is fixed, or another one in every round
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..core.random import bits, generator
from ..errors import ConfigError
from ..timing.base import Clients, Draw, Step, Timing, Traits, timing_registry
from ..typing import Float64s
from .graphs import graph_of
from .mixing import check_mixing, mixing_of, reaches_everyone

Chosen = Callable[[int, np.random.Generator], ArrayLike]
"""The mixing matrix of a round, with randomness of its own."""


@timing_registry.add("gossip")
class Gossip(Timing):
    """No server: everyone works every round and averages with its neighbors; `gossip:ring` or
    `gossip:erdos-renyi:0.3,fastest`.

    `graph` is a graph's name or a table, `mixing` the name of weights on it, or a matrix. With `redraw` a
    random graph is drawn anew in every round. `matrices` replaces both: several matrices that are used in
    turn, or a function of the round and a random generator.

    >>> timing = Gossip("ring")
    >>> timing.begin(Clients(np.full(3, 1 / 3)))
    >>> next(timing.steps(lambda number: None, 0)).weights.round(2)
    array([[0.33, 0.33, 0.33],
           [0.33, 0.33, 0.33],
           [0.33, 0.33, 0.33]])
    """

    traits: ClassVar[Traits] = Traits(mixes_by_matrix=True)

    def __init__(
        self,
        graph: str | ArrayLike = "erdos-renyi:0.5",
        mixing: str | ArrayLike = "metropolis",
        *,
        redraw: bool = False,
        matrices: ArrayLike | Chosen | None = None,
    ) -> None:
        self.graph, self.mixing, self.redraw, self.matrices = graph, mixing, redraw, matrices
        self.seed, self.clients = 0, 0
        self._turns: list[Float64s] = []

    def begin(self, clients: Clients) -> None:
        """Draw the graph and check the weights on it."""
        self.seed, self.clients = clients.seed, len(clients.importance)
        self._turns = self._fixed()
        for matrix in self._turns:
            self._checked(matrix)
        if self._turns and not reaches_everyone(self._turns):
            raise ConfigError("these mixing matrices together do not connect all clients.")

    def matrix(self, number: int) -> Float64s:
        """The mixing matrix of a round."""
        if self._turns:
            return self._turns[number % len(self._turns)]
        if callable(self.matrices):
            return self._checked(self.matrices(number, generator(self.seed, "gossip", number)))
        return self._drawn(int(bits(self.seed, "gossip", number)))

    def steps(self, draw: Draw, first: int) -> Iterator[Step]:
        everyone = np.arange(self.clients)
        for number in count(first):
            matrix, versions = self.matrix(number), np.full(self.clients, number)
            sent = float(np.count_nonzero(matrix) - np.count_nonzero(np.diag(matrix)))
            over, old = float(number + 1), np.array([number])
            yield Step(number, everyone, versions, matrix, over, old, messages=sent)

    def _fixed(self) -> list[Float64s]:
        if self.matrices is None:
            return [] if self.redraw else [self._drawn(self.seed)]
        if callable(self.matrices):
            return []
        stacked = np.asarray(self.matrices, np.float64)
        return list(stacked[None] if stacked.ndim == 2 else stacked)

    def _drawn(self, seed: int) -> Float64s:
        return mixing_of(self.mixing, graph_of(self.graph, self.clients, seed))

    def _checked(self, matrix: ArrayLike) -> Float64s:
        checked = check_mixing(matrix, loops=False)
        if len(checked) != self.clients:
            raise ConfigError(
                f"the mixing matrix is of {len(checked)} clients, but there are {self.clients}."
            )
        return checked
