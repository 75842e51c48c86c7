"""Clustered sampling by the similarity of clients' updates.

The server remembers every client's last update (zero before the first), compares them, and draws from groups
of similar clients, so that a round represents all kinds (Fraboni, Vidal, Kameni and Lorenzi, "Clustered
Sampling: Low-Variance and Improved Representativity for Clients Selection in Federated Learning", 2021). What
sampling adds to the aggregated update is the spread within groups,

    E ||sum_i omega_i g_i - g||^2 = (1/m) sum_i p_i ||g_i||^2 - (1/m^2) sum_k ||sum_i r_ki g_i||^2.

No message is added, but the server must see each update: this does not go together with secure summation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...core.random import bits
from ...errors import ConfigError, unknown
from ...typing import Array, Bools, ClientIds, Float64s
from ..base import Cohort, RoundContext
from .base import count_draws, sampler_registry
from .clustered import Clustered
from .distributions import ClusterDistributions, integer_sizes
from .similarity import (
    FINE,
    LINKAGES,
    by_mass,
    check_measure,
    check_method,
    constrained_cut,
    distance_rows,
    fill,
    row_squares,
    similarity_tree,
    split_into,
    split_oversized,
    tree_of_places,
)

FEW = 1000
"""Up to so many clients, everyone is a leaf of the tree."""
MOST_HEARD = 8000
"""Clients that can be compared in pairs; a table of them takes half a gigabyte."""


class LastUpdates:
    """The last update of every client that was heard of, and how far these are from each other.

    Row 0 is the zero vector and stands for all clients that were never heard of; so memory grows with the
    clients that took part, and only the rows of the newest updates are compared again.

    >>> memory = LastUpdates("L1")
    >>> memory.learn(np.array([7]), np.array([[3.0, -1.0]]))
    >>> memory.among(np.array([2, 7]))
    array([[0., 4.],
           [4., 0.]])
    """

    def __init__(self, measure: str, angle_to_zero: float = 0.0, lags: bool = False) -> None:
        self.measure, self.angle_to_zero, self.lags = measure, angle_to_zero, lags
        self.forget()

    def forget(self) -> None:
        """Start again without any update."""
        self.row: dict[int, int] = {}
        self.updates = np.zeros((1, 0), np.float32)
        self.distances = self.shown = np.zeros((1, 1))
        self.spoilt = 0
        """How many updates were not finite and count as zero."""

    def learn(self, clients: ClientIds, updates: Array) -> None:
        """Replace the updates of some clients."""
        if not len(clients):
            return
        with np.errstate(over="ignore"):
            given = updates.astype(np.float32)
        finite = np.all(np.isfinite(given), axis=1)
        self.spoilt += int((~finite).sum())
        before, rows = self.distances, self._make_room(clients, given.shape[1])
        self.updates[rows] = np.where(finite[:, None], given, np.float32(0))
        found = distance_rows(self.measure, self.updates, rows, self.angle_to_zero)
        self.distances[rows], self.distances[:, rows] = found, found.T
        self.shown = before if self.lags else self.distances

    def among(self, clients: ClientIds) -> Float64s:
        """The distances between clients (one round ago, for a memory that lags)."""
        rows = self._rows(clients)
        rows = np.where(rows < len(self.shown), rows, 0)
        return self.shown[np.ix_(rows, rows)]

    def heard(self, clients: ClientIds) -> Bools:
        """Whether each of these is among those that are compared."""
        rows = self._rows(clients)
        return (rows > 0) & (rows < len(self.shown))

    def _rows(self, clients: ClientIds) -> ClientIds:
        return np.array([self.row.get(client, 0) for client in clients.tolist()], np.int64)

    def _make_room(self, clients: ClientIds, width: int) -> ClientIds:
        """Rows for these clients, new ones where they have none."""
        if self.row and width != self.updates.shape[1]:
            raise ConfigError(f"updates have {width} numbers, but earlier ones {self.updates.shape[1]}.")
        for client in clients.tolist():
            self.row.setdefault(client, len(self.row) + 1)
        more = len(self.row) + 1 - len(self.updates)
        if more:
            self.updates = np.pad(self.updates, ((0, more), (0, width - self.updates.shape[1])))
        self.distances = np.pad(self.distances, (0, more))  # a copy: the older one may still be shown
        return self._rows(clients)

    def state(self) -> dict[str, Array]:
        """Everything, as arrays; distances too, since to compare all updates again would take long."""
        return {
            "clients": np.array(list(self.row), np.int64),
            "updates": self.updates.copy(),  # they are replaced in place
            "distances": self.distances,
            "spoilt": np.array(self.spoilt),
            **({"shown": self.shown} if self.lags else {}),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        """The inverse of :meth:`state`."""
        self.forget()
        if "clients" in state:
            self.row = {client: k for k, client in enumerate(state["clients"].tolist(), 1)}
            self.updates, self.distances = np.array(state["updates"]), np.array(state["distances"])
            self.shown = np.array(state["shown"]) if "shown" in state else self.distances
            self.spoilt = int(state["spoilt"])


@sampler_registry.add("clustered-similarity")
@dataclass(frozen=True)
class ClusteredBySimilarity(Clustered):
    """One from each of m groups of clients with similar updates; weights count/m, unbiased, summing to one.

    >>> sampler = ClusteredBySimilarity(per_round=2)
    >>> kinds = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]])
    >>> sampler.observe(0, Cohort(np.arange(4), np.full(4, 0.25)), {"update": kinds})
    >>> sorted(group.tolist() for group in sampler.groups(np.full(4, 0.25)))
    [[0, 2], [1, 3]]
    """

    measure: str = "arccos"
    """`arccos` (the angle), `L2` (squared) or `L1`."""
    linkage: str = "rows"
    """Whether the tree is built on the `rows` of the distance matrix or on the `condensed` distances."""
    method: str = "ward"
    """How far two groups are apart: `ward`, `average`, `complete` or `single`."""
    pipeline: bool = field(default=False, kw_only=True)
    """Whether groups lag one round behind, so that they can be made while clients train."""
    memory: LastUpdates = field(init=False, repr=False, compare=False)
    watches = ("update",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.linkage not in LINKAGES:
            raise unknown("linkage", self.linkage, LINKAGES)
        check_method(self.method)
        angle = np.pi / 2 if self.linkage == "condensed" else 0.0
        memory = LastUpdates(check_measure(self.measure), angle, self.pipeline)
        object.__setattr__(self, "memory", memory)

    def check(self, clients: int, rounds: int) -> None:
        """Raise if it cannot serve that many clients, and forget what an earlier run has taught."""
        super().check(clients, rounds)
        heard = min(clients, self.per_round * rounds)
        if heard > MOST_HEARD:
            raise ConfigError(
                f"clustered-similarity compares all clients that it has heard, at most {MOST_HEARD}, but "
                f"{rounds} rounds of {self.per_round} may be {heard}; take fewer rounds, or clustered-size."
            )
        self.restore({})

    def observe(self, round: int, cohort: Cohort, reports: Mapping[str, Array]) -> None:
        updates = np.asarray(reports.get("update", ()))
        if updates.ndim != 2 or len(updates) != len(cohort.clients):
            wanted = f"one update for each of the {len(cohort.clients)} clients, as a row of `update`"
            raise ConfigError(
                f"clustered-similarity needs {wanted}, but was shown the shape {updates.shape}."
            )
        self.memory.learn(cohort.clients, updates)
        self._renew()

    def cohort(self, turn: RoundContext) -> Cohort:
        if turn.chosen_from is None:
            return self.draw(turn.importance, turn.rng)
        return count_draws(self.line(turn.importance, turn.clients).draw(turn.rng), 1 / self.per_round)

    def line(self, importance: Float64s, clients: ClientIds | None = None) -> ClusterDistributions:
        """The distributions by what is known now; `clients` says whose importances these are (None: all)."""
        order, amounts, groups = self._cut(importance, clients)
        line = fill(groups, amounts, self.per_round)
        return replace(line, clients=order[line.clients])

    def groups(self, importance: Float64s) -> list[ClientIds]:
        """The groups of similar clients, heaviest first (what clients hold beside whole distributions)."""
        order, amounts, groups = self._cut(importance, None)
        rest = split_oversized(amounts, self.per_round)[1]
        return [np.sort(order[group]) for group in by_mass(groups, rest)]

    def _cut(
        self, importance: Float64s, clients: ClientIds | None
    ) -> tuple[ClientIds, ClientIds, list[ClientIds]]:
        """Positions in a random order, their amounts, and their groups.

        The order decides between equals, as clients never heard of are; their numbers may be sorted by class.
        """
        who = np.arange(len(importance)) if clients is None else clients
        order = np.argsort(bits(self.seed, "similarity ties", who))
        sizes = None if self.sizes is None else np.asarray(self.sizes)[who]
        amounts = self.per_round * integer_sizes(importance, self.per_round, sizes)[order]
        rest, length = split_oversized(amounts, self.per_round)[1], int(amounts.sum()) // self.per_round
        limit = length + length // FINE
        if len(who) > FEW:
            return order, amounts, self._groups_of_many(who[order], rest, limit)
        tree = similarity_tree(self.memory.among(who[order]), self.linkage, self.method)
        return order, amounts, constrained_cut(tree, rest, limit)

    def _groups_of_many(self, who: ClientIds, rest: ClientIds, limit: int) -> list[ClientIds]:
        """The same where clients never heard of, who are all alike, are one leaf of the tree together."""
        heard = self.memory.heard(who)
        known, strangers = np.flatnonzero(heard), np.flatnonzero(~heard)
        if not len(known):
            return split_into(strangers[rest[strangers] > 0], rest[strangers[rest[strangers] > 0]], limit)
        leaves = [strangers, *known[:, None]] if len(strangers) else list(known[:, None])
        some = np.array([leaf[0] for leaf in leaves])
        sizes, matrix = np.array([len(leaf) for leaf in leaves]), self.memory.among(who[some])
        squares = row_squares(matrix, sizes) if self.linkage == "rows" else matrix**2
        masses = np.array([min(int(rest[leaf].sum()), limit) for leaf in leaves])
        groups = []
        for group in constrained_cut(tree_of_places(squares, sizes, self.method), masses, limit):
            members = np.concatenate([leaves[k] for k in group.tolist()])
            members = members[rest[members] > 0]
            groups += split_into(members, rest[members], limit)
        return groups

    def state(self) -> dict[str, Array]:
        return self.memory.state()

    def restore(self, state: Mapping[str, Array]) -> None:
        self.memory.restore(state)
        self._renew()
