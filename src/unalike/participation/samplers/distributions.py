"""The m sampling distributions of clustered sampling, stored for quick exact draws.

Clustered sampling draws one client from each of m distributions r_k and lets each draw weigh 1/m (Fraboni,
Vidal, Kameni and Lorenzi, "Clustered Sampling: Low-Variance and Improved Representativity for Clients
Selection in Federated Learning", 2021). It is unbiased if and only if

    sum_i r_ki = 1 for every distribution k,        sum_k r_ki = m p_i for every client i.

Here, pieces of clients, of whole-numbered lengths, lie one after the other on a line of m equal stretches;
stretch k is distribution k. The first condition then holds by itself, the second says that a client's pieces
are m p_i stretches long, and a draw is one whole number per stretch and a binary search, without rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import ClientIds, Float64s
from .statistics import MOST_PAIRS, WeightStatistics, distinct_variance

LONGEST = 2**62
"""No line is longer, so that 64-bit integers hold it."""


@dataclass(frozen=True, eq=False)
class ClusterDistributions:
    """Pieces of clients in a row, cut into stretches; each stretch is a distribution.

    >>> line = ClusterDistributions(np.array([0, 1, 2]), np.array([6, 3, 3]), distributions=2, population=3)
    >>> line.matrix()
    array([[1. , 0. , 0. ],
           [0. , 0.5, 0.5]])
    """

    clients: ClientIds
    """The client that each piece belongs to."""
    amounts: ClientIds
    """How long each piece is; positive whole numbers."""
    distributions: int
    """How many distributions there are (m)."""
    population: int
    """How many clients there are, with or without a piece."""

    def __post_init__(self) -> None:
        if len(self.clients) != len(self.amounts) or not len(self.amounts) or self.amounts.min() <= 0:
            raise ConfigError("every piece of a line needs a client and a positive length.")
        if self.distributions < 1 or self.ends[-1] % self.distributions:
            raise ConfigError(
                f"a line of length {self.ends[-1]} cannot be cut into {self.distributions} equal stretches."
            )

    @cached_property
    def ends(self) -> ClientIds:
        """Where each piece ends."""
        return np.cumsum(self.amounts)

    @property
    def length(self) -> int:
        """How long a stretch is."""
        return int(self.ends[-1]) // self.distributions

    def draw(self, rng: np.random.Generator) -> ClientIds:
        """One client from each stretch; the same client may come from several."""
        starts = self.length * np.arange(self.distributions)
        points = starts + rng.integers(self.length, size=self.distributions)
        return self.clients[np.searchsorted(self.ends, points, side="right")]

    def table(self) -> Any:
        """How long each client (column) is within each stretch (row); a sparse matrix of whole numbers."""
        borders = self.length * np.arange(1, self.distributions + 1)
        piece, stretch, amounts = overlaps(self.ends, borders)
        shape = (self.distributions, self.population)
        return scipy.sparse.coo_array((amounts, (stretch, self.clients[piece])), shape=shape).tocsr()

    def matrix(self) -> Float64s:
        """All distributions, one per row (r)."""
        return self.table().toarray() / self.length

    def check(self, sizes: ClientIds) -> None:
        """Raise unless every client's pieces are in proportion to its size, in whole numbers."""
        held = np.zeros(self.population, np.int64)
        np.add.at(held, self.clients, self.amounts)
        wanted = self.distributions * sizes
        if int(sizes.sum()) != self.length or not np.array_equal(held, wanted):
            bad = int(np.argmax(held != wanted))
            raise ConfigError(f"client {bad} holds {held[bad]} of the line, but should hold {wanted[bad]}.")

    def statistics(self, importance: Float64s) -> WeightStatistics:
        """The exact moments of the weights count/m."""
        shares, m, n = self.table() / self.length, self.distributions, self.population
        r, clients = shares.data, shares.indices
        with np.errstate(divide="ignore"):
            absent = np.exp(np.bincount(clients, np.log1p(-r), n))
        return WeightStatistics(
            importance,
            np.bincount(clients, r, n) / m,
            np.bincount(clients, r * (1 - r), n) / m**2,
            1 - absent,
            0.0,
            pairwise=lambda: -(shares.T @ shares).toarray() / m**2,
            largest_gamma=1 / m,
            clients_variance=_clients_variance(shares, absent) if n <= MOST_PAIRS else None,
        )


def overlaps(first: ClientIds, second: ClientIds) -> tuple[ClientIds, ClientIds, ClientIds]:
    """Two ways of cutting a segment, laid on each other: which part of each every bit is in, and its length.

    >>> overlaps(np.array([3, 5]), np.array([1, 5]))
    (array([0, 0, 1]), array([0, 1, 1]), array([1, 2, 2]))
    """
    ends = np.union1d(first, second)
    ends = ends[ends > 0]
    starts = np.concatenate([np.zeros(1, np.int64), ends])[:-1]
    one, other = (np.searchsorted(cuts, starts, side="right") for cuts in (first, second))
    return one, other, ends - starts


def integer_sizes(importance: Float64s, draws: int, sizes: ArrayLike | None = None) -> ClientIds:
    """Whole numbers in proportion to importance, small enough for a line of that many stretches.

    They are the clients' sizes where importance is proportional to those; otherwise importance is counted in
    units that are too small to matter. Equal importances become equal numbers.

    >>> integer_sizes(np.array([0.25, 0.75]), 2, sizes=[5, 15])
    array([ 5, 15])
    """
    if sizes is not None and _proportional(np.asarray(sizes), importance, draws):
        return np.asarray(sizes).astype(np.int64)
    about = 2.0 ** ((LONGEST // draws).bit_length() - 2)  # half of what fits, as rounding may add some units
    return np.rint(importance / importance.sum() * about).astype(np.int64)


def _clients_variance(shares: Any, absent: Float64s) -> float:
    """Of the number of distinct clients; only within a stretch is one client absent because of another."""
    together = np.outer(absent, absent)
    for start, stop in pairwise(shares.indptr):
        if stop - start > 1:
            members, r = shares.indices[start:stop], shares.data[start:stop]
            both, alone = np.maximum(1 - r[:, None] - r, 0.0), np.outer(1 - r, 1 - r)
            # A client that is sure but for rounding is never absent, so its factor does not matter.
            together[np.ix_(members, members)] *= both / np.where(alone > 0, alone, 1.0)
    return distinct_variance(absent, together)


def _proportional(sizes: Float64s, importance: Float64s, draws: int) -> bool:
    total = float(sizes.sum(dtype=np.float64))
    if sizes.shape != importance.shape or not 0 < total * draws <= LONGEST:
        return False
    whole = bool((sizes >= 0).all() and (sizes == np.rint(sizes)).all())
    return whole and np.allclose(sizes / total, importance, rtol=1e-12, atol=0.0)
