"""Weights of rows and clients in a stream.

A strategy is a choice of p, how much each client counts over the whole run (Marfoq, Neglia, Kameni and Vidal,
"Federated Learning for Data Streams", 2023, sections 4 and 5): N_m are the rows that client m receives in the
run, "historical" clients have all of theirs from the start, "fresh" ones receive theirs while training. With
tau_mj the number of rounds in which row j is in memory, every row weighs

    lambda_m(t, j) = p_m / (N_m tau_mj),      W_m(t) = sum_{j in I_m(t)} lambda_m(t, j),

so that all rows of a client count the same, p_m / N_m, however irregularly they arrive. With N_m = T b_m and
memories of one batch that is the published p_m / |I_m(t)| in every round, up to a factor. Where nobody knows
how many rounds there will be, rows have that weight, p_m / |I_m(t)|. "memory-size" and "importance" look at a
round alone. Clients who come one after the other take each other's place, except with "uniform": whoever is
there shares, in proportion to p, what all of them count together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Bools, Float32s, Float64s, Int64s
from ..importance import check_importance, importance_of
from .target_importance import Tradeoff

NOTHING = 1e-12
"""A client that counts less than this is not trained."""


class Collected(NamedTuple):
    """What is known of the clients before a run."""

    totals: Int64s
    """Rows that each receives in the whole run."""
    historical: Bools
    importance: Float64s
    """How much each counts in the federation, without a stream."""
    passing: Bools | None = None
    """Who comes only for a while and then leaves its place to others; nobody when None."""


class StreamWeights:
    """How much clients count; a strategy says :meth:`shares`, once for a run."""

    by_lifetime: ClassVar[bool] = False
    """Whether the shares are of the whole run, and rows of a client count alike in it: by the rounds in which
    each is in memory."""
    assumes_single_use: ClassVar[bool] = False
    """Whether they are derived for fresh clients who receive rows at a constant rate and use each in one
    round (C_m = b_m)."""
    keeps_places: ClassVar[bool] = True
    """Whether clients that come one after the other take each other's place in every round."""

    def fit(self, tradeoff: Callable[[], Tradeoff]) -> None:
        """Learn what is missing before a run; `tradeoff()` measures the bound's constants."""

    def begin(self, clients: Collected) -> None:
        """Get ready for a run, and forget earlier ones."""
        self.given, self._passing = self.shares(clients), clients.passing

    def shares(self, clients: Collected) -> Float64s:
        """p: how much each client counts, not necessarily with sum one."""
        raise NotImplementedError(f"{type(self).__name__} must implement shares().")

    def totals(self, held: Int64s) -> Float64s:
        """W_m(t): the weight of all rows of each client together, when it holds so many."""
        now = np.where(held > 0, self.given, 0.0)
        if self._passing is None or not now[self._passing].any():
            return now
        together, there = self.given[self._passing].sum(), now[self._passing].sum()
        return np.where(self._passing, now * (together / there), now)

    def of_rows(self, ages: Int64s, held: Int64s) -> Float32s | None:
        """The weights of some clients' rows, with mean one in each client, by how many rows have arrived
        after each; None means that all are equal."""
        return None

    def facts(self) -> dict[str, float]:
        """What is recorded once, before the first round."""
        return {}


stream_weight_registry: Registry[StreamWeights] = Registry("stream weights", "stream-weights")


@stream_weight_registry.add("memory-size")
class MemorySize(StreamWeights):
    """Clients count by the rows that they hold now; every row in memory counts the same."""

    def shares(self, clients: Collected) -> Float64s:
        return np.ones(len(clients.totals))

    def totals(self, held: Int64s) -> Float64s:
        return held.astype(np.float64)


@stream_weight_registry.add("uniform")
class Uniform(StreamWeights):
    """All rows count the same over the whole run, and clients by their rows, n_m = N_m / N."""

    by_lifetime = True
    keeps_places = False

    def shares(self, clients: Collected) -> Float64s:
        return clients.totals / max(int(clients.totals.sum()), 1)


@stream_weight_registry.add("fixed")
class Fixed(StreamWeights):
    """`fixed:0.8` gives historical clients 0.8 together and fresh ones the rest, each by its rows."""

    by_lifetime = True

    def __init__(self, historical: float) -> None:
        if not 0 <= historical <= 1:
            raise ConfigError(f"the share of historical clients must be from 0 to 1, but is {historical}.")
        self.historical = historical

    def shares(self, clients: Collected) -> Float64s:
        old = np.where(clients.historical, clients.totals, 0)
        new = clients.totals - old
        if self.historical > 0 and not old.any():
            raise ConfigError(
                "no client has historical data to weigh; say how many have, such as --stream constant:20,0.5."
            )
        if self.historical < 1 and not new.any():
            raise ConfigError(
                "no client receives fresh data to weigh; choose other stream weights, such as uniform."
            )
        shares = self.historical * old / max(int(old.sum()), 1)
        return shares + (1 - self.historical) * new / max(int(new.sum()), 1)


@stream_weight_registry.add("historical")
class HistoricalOnly(Fixed):
    """Only clients with historical data count, by their rows."""

    def __init__(self) -> None:
        super().__init__(1.0)


@stream_weight_registry.add("fresh")
class FreshOnly(Fixed):
    """Only clients that receive data while training count, by their rows."""

    def __init__(self) -> None:
        super().__init__(0.0)


@stream_weight_registry.add("importance")
class OwnImportance(StreamWeights):
    """Clients count as they do without a stream, while they hold rows."""

    def shares(self, clients: Collected) -> Float64s:
        return clients.importance


class GivenImportance(StreamWeights):
    """Shares p_m that somebody has computed, one for each client."""

    by_lifetime = True

    def __init__(self, importance: ArrayLike) -> None:
        self.importance = check_importance(np.asarray(importance, np.float64))

    def shares(self, clients: Collected) -> Float64s:
        return check_importance(self.importance, len(clients.totals))


@stream_weight_registry.add("given")
class ImportanceFile(StreamWeights):
    """`given:FILE` reads one share per client, which sum to one."""

    by_lifetime = True

    def __init__(self, path: str) -> None:
        self.path = str(path)

    def shares(self, clients: Collected) -> Float64s:
        return importance_of(self.path, clients.totals)
