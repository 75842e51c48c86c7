"""A data stream of clients: arrivals x memory x weights.

    arrived rows  ->  memory I_m(t)  ->  W_m(t) = sum_{j in I_m(t)} lambda_m(t, j)  ->  p_m(t) = W_m(t) / W(t)

(Marfoq, Neglia, Kameni and Vidal, "Federated Learning for Data Streams", 2023, algorithm 1). A client's rows
arrive in an order that the seed shuffles, or, when `ordered`, in their order in the federation. All of it is
a function of (seed, round); what is saved only spares counting again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...core.random import bits
from ...errors import ConfigError
from ...typing import Array, Bools, ClientIds, Float32s, Float64s, Int64s
from ..federation import Federation, Split
from .arrivals import Arrivals, arrival_registry
from .base import Selection, Stream
from .clocked_stream import check_period
from .drift_detectors import detector_registry
from .drift_injection import Drift, drift_registry
from .fresh_use import FreshUse, use_of_fresh_rows
from .memory import Candidates, MemoryRule, Span, make_memory
from .reservoir import ranks
from .rounds_in_memory import LifetimeCounter, RowRates, row_rates
from .run_weights import RunWeights, weights_of_run
from .target_importance import Tradeoff
from .weights import NOTHING, Collected, StreamWeights, stream_weight_registry


class _Now(NamedTuple):
    """What all clients hold in a round."""

    held: Int64s
    totals: Float64s
    """W_m(t)."""
    row_squares: Float64s
    """The sum of squares of what each row counts within its client."""


class MemoryStream(Stream):
    """Rows that arrive, of which clients keep some.

    >>> stream = MemoryStream("constant:2", memory=3)
    >>> x, owners = np.zeros((8, 1)), np.repeat([0, 1], 4)
    >>> stream.begin(Federation.from_owners(x, np.zeros(8), owners, classes=None), seed=0)
    >>> [len(stream.select(round, np.array([0])).rows) for round in range(3)]
    [2, 3, 3]
    """

    def __init__(
        self,
        arrivals: str | Arrivals,
        memory: str | int | MemoryRule | None = None,
        weights: str | StreamWeights = "memory-size",
        *,
        drift: str | Drift | None = None,
        detector: str | None = None,
        ordered: bool = False,
        period: float | None = None,
    ) -> None:
        self.arrivals = arrival_registry.make(arrivals) if isinstance(arrivals, str) else arrivals
        self.memory = memory if isinstance(memory, MemoryRule) else make_memory(memory)
        self.weights = stream_weight_registry.make(weights) if isinstance(weights, str) else weights
        self.drift = drift_registry.make(drift) if isinstance(drift, str) else drift
        self.ordered, self.changes_rows = ordered, self.drift is not None
        self.period = None if period is None else check_period(period)
        if detector is not None:
            detector_registry.make(detector)  # refused here rather than after the first rounds
        self.detector = detector
        self._sizes: Int64s = np.zeros(0, np.int64)

    def fit(self, tradeoff: Callable[[Stream], Tradeoff]) -> None:
        self.weights.fit(lambda: tradeoff(self))

    def begin(self, federation: Federation, seed: int, rounds: int | None = None) -> None:
        train = federation.train
        self._offsets, self._sizes, self._horizon = train.offsets, train.sizes, rounds
        self._row_bytes = (train.x.nbytes + train.y.nbytes) // max(len(train.y), 1)
        self._labels = train.y if self.memory.needs_labels else None
        if self.memory.needs_labels and federation.classes is None:
            raise ConfigError("a balanced memory needs one class per row; use reservoir instead.")
        self.arrivals.begin(train.sizes, seed)
        self._order = self._arrival_order(federation, seed, rounds)
        self.memory.begin(seed)
        if self.drift is not None:
            self.drift.begin(federation, self.arrivals, seed, rounds)
        self._own = federation.importance
        self._weigh()
        self._last: tuple[int, _Now] | None = None

    def _arrival_order(self, federation: Federation, seed: int, rounds: int | None) -> Int64s:
        """All rows, client by client in the order in which they arrive."""
        mixture = self.arrivals.mixture
        if mixture is None:
            train = federation.train
            return np.arange(len(train.y)) if self.ordered else shuffled_rows(train, seed)
        if self.ordered:
            raise ConfigError("rows of a changing mixture have an order of their own; leave out ordered.")
        return mixture.order(federation, self.arrivals, seed, rounds)

    def _weigh(self) -> None:
        self.weights.begin(
            Collected(self.collected(), self.arrivals.historical, self._own, self.arrivals.passing)
        )
        self._rates: RowRates | None = None
        places = self.arrivals.passing is not None and self.weights.keeps_places
        counted = self._horizon and self.weights.by_lifetime and not places
        if counted:
            self._rates = row_rates(self.lifetimes(self._horizon or 0), self._offsets)

    @property
    def sizes(self) -> Int64s:
        """All training rows of each client, whether they arrive in the run or not."""
        return self._sizes

    @property
    def offsets(self) -> Int64s:
        """Where each client's rows begin."""
        return self._offsets

    def run_weights(self, rounds: Sequence[int]) -> RunWeights:
        return weights_of_run(self, rounds)

    def fresh_use(self) -> FreshUse | None:
        return use_of_fresh_rows(self, self._horizon) if self.weights.assumes_single_use else None

    def collected(self) -> Int64s:
        """Rows that each client receives in the whole run; all of its rows where nobody knows how long that
        is."""
        return self.arrivals.arrived(self._horizon - 1) if self._horizon else self._sizes

    def lifetimes(self, rounds: int) -> Int64s:
        """tau: in how many of the first rounds each row is in memory, in the order of arrival."""
        return self._sum_over(dict.fromkeys(range(rounds), 1), lambda _: 1).astype(np.int64)

    def row_totals(self, times: Mapping[int, int]) -> Float64s:
        """sum_t lambda(t, j) of every row, in the order of arrival, over rounds that each take place so many
        times."""
        if self._rates is not None:
            owners = np.repeat(np.arange(len(self._sizes)), self._sizes)
            return self._sum_over(times, lambda _: 1) * self.weights.given[owners] * self._rates.each

        def mean_weight(round: int) -> Float64s:
            held, totals, _ = self._now(round)
            return totals / np.maximum(held, 1)

        return self._sum_over(times, mean_weight, type(self.weights).of_rows is not StreamWeights.of_rows)

    def _sum_over(
        self, times: Mapping[int, int], weigh: Callable[[int], ArrayLike], by_age: bool = False
    ) -> Float64s:
        """What rounds come to for the rows that are in memory, with a weight for all clients or for each, and
        by the ages of rows if asked for."""
        counter, everyone = LifetimeCounter(self._offsets), np.arange(len(self._sizes))
        for round, count in times.items():
            weights = np.broadcast_to(count * np.asarray(weigh(round), np.float64), len(everyone))
            if not (self.memory.draws or by_age):
                counter.add_span(self._span(round), weights)
                continue
            owner, index, _, _ = self._held_rows(round, everyone)
            each = weights[owner]
            if by_age:
                each = each * self._by_age(round, owner, index)
            counter.add_rows(self._offsets[owner] + index, each)
        return counter.sums()

    def _by_age(self, round: int, owner: Int64s, index: Int64s) -> Float64s:
        """The weights of all clients' rows by their ages, with mean one in each client."""
        held = np.bincount(owner, minlength=len(self._sizes))
        found = self.weights.of_rows(self._span(round).last[owner] - 1 - index, held)
        return np.ones(len(owner)) if found is None else found.astype(np.float64)

    def _held_rows(self, round: int, clients: ClientIds) -> tuple[Int64s, Int64s, Int64s, Bools | None]:
        """Rows that clients hold: whose each is, its place, the row itself, and which came changed."""
        span = self._span(round)
        owner, index, rows = self._between(span.first[clients], span.last[clients], clients)
        drifted = None if self.drift is None else self.drift.drifted(round, clients[owner], index)
        kept = self.memory.keeps(Candidates(owner, clients[owner], index, self._labels_of(rows, drifted)))
        if kept is None:
            return owner, index, rows, drifted
        kept |= self.arrivals.exempt[clients[owner]]
        return owner[kept], index[kept], rows[kept], None if drifted is None else drifted[kept]

    def select(self, round: int, clients: ClientIds) -> Selection:
        owner, index, rows, drifted = self._held_rows(round, clients)
        held = np.bincount(owner, minlength=len(clients))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(held)])
        if self._rates is not None:
            weights = self._rates.relative(self._offsets[clients[owner]] + index, owner, held)
        else:
            last = self._span(round).last[clients]
            weights = self.weights.of_rows(last[owner] - 1 - index, held)
        # In the federation's order: whoever holds all of its rows trains as without a stream.
        place = np.lexsort((rows, owner))
        weights = None if weights is None else weights[place]
        return self._received(rows[place], offsets, weights, None if drifted is None else drifted[place])

    def arriving(self, round: int, clients: ClientIds, since: int | None = None) -> Selection:
        before = round - 1 if since is None else since
        first, last = (self.arrivals.arrived(r)[clients] for r in (before, round))
        owner, index, rows = self._between(first, last, clients)
        drifted = None if self.drift is None else self.drift.drifted(round, clients[owner], index)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(last - first)])
        return self._received(rows, offsets, None, drifted)

    def holdout(self, part: Split, done: int, numbers: ClientIds | None = None) -> Split:
        if self.drift is None or done < 1:
            return part
        return self.drift.holdout(part, self.drift.share(done - 1), numbers)

    def concepts(self, part: Split, done: int) -> tuple[list[float], Callable[[float], Split]]:
        if self.drift is None or done < 1:
            return super().concepts(part, done)
        return self.drift.segments(done - 1), partial(self.drift.holdout, part)

    def drift_begins(self, round: int) -> list[int]:
        return [] if self.drift is None else self.drift.begins(round)

    def _received(
        self, rows: Int64s, offsets: Int64s, weights: Float32s | None, drifted: Bools | None
    ) -> Selection:
        return Selection(rows, offsets, weights, drifted, None if self.drift is None else self.drift.change)

    def _labels_of(self, rows: Int64s, drifted: Bools | None) -> Array | None:
        """The classes that a memory's rule sees, which are those that the rows came with."""
        if self._labels is None or drifted is None or self.drift is None:
            return None if self._labels is None else self._labels[rows]
        return np.where(drifted, self.drift.change.labels(self._labels[rows]), self._labels[rows])

    def _between(self, first: Int64s, last: Int64s, clients: ClientIds) -> tuple[Int64s, Int64s, Int64s]:
        """Rows by their places in the order of arrival: whose each is, its place, and the row itself."""
        sizes = np.maximum(last - first, 0)
        owner = np.repeat(np.arange(len(clients)), sizes)
        index = np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(len(owner))
        return owner, index, self._order[np.repeat(self._offsets[clients], sizes) + index]

    def held(self, round: int) -> Int64s:
        """How many rows each client holds in a round."""
        return self._now(round)[0]

    def totals(self, round: int) -> Float64s:
        """W_m(t): the weight of all rows that each client holds in a round."""
        return self._now(round).totals

    def round_weight(self, round: int) -> float:
        return float(self.totals(round).sum())

    def importance(self, round: int) -> Float64s:
        return shares_of(self.totals(round))

    def is_dry(self, round: int) -> bool:
        arrived = self.arrivals.arrived(round - 1)
        return not self.arrivals.historical.all() and bool((arrived == self._sizes).all())

    def columns(self, round: int, since: int | None = None) -> dict[str, float]:
        held, totals, row_squares = self._now(round)
        before = round - 1 if since is None else since
        arrived = self.arrivals.arrived(round).sum() - self.arrivals.arrived(before).sum()
        squares = float((shares_of(totals) ** 2 * row_squares).sum())
        effective = {"effective_samples": 1 / squares} if squares else {}
        drift = {} if self.drift is None else {"drift": self.drift.share(round)}
        return {"arrived": float(arrived), "held": float(held.sum()), **effective, **drift}

    def facts(self) -> dict[str, float]:
        return {"memory_bytes": float(self._room().sum() * self._row_bytes), **self.weights.facts()}

    def most_held(self) -> int | None:
        return int(self._room().max()) if len(self._sizes) else None  # before it has begun, nobody knows

    def _room(self) -> Int64s:
        """How many rows each client has room for."""
        room = self._sizes if self.memory.capacity is None else np.minimum(self._sizes, self.memory.capacity)
        return np.where(self.arrivals.exempt, self._sizes, room)

    def state(self) -> dict[str, Array]:
        parts = {"arrivals": self.arrivals.state(), "memory": self.memory.state()}
        inside = {f"{part}/{name}": value for part, of in parts.items() for name, value in of.items()}
        return {**inside, "horizon": np.array(-1 if self._horizon is None else self._horizon)}

    def restore(self, state: Mapping[str, Array]) -> None:
        if "horizon" in state:  # a run that goes on for longer keeps the weights that it began with
            horizon = int(state["horizon"])
            self._horizon = None if horizon < 0 else horizon
            self._weigh()
        self.arrivals.restore(_below(state, "arrivals/"))
        self.memory.restore(_below(state, "memory/"))
        self._last = None

    def _span(self, round: int) -> Span:
        span = self.memory.span(self.arrivals, round)
        if not self.arrivals.exempt.any():
            return span
        free = self.arrivals.exempt
        return Span(
            np.where(free, self.arrivals.gone(round), span.first),
            np.where(free, self.arrivals.arrived(round), span.last),
        )

    def _now(self, round: int) -> _Now:
        """What all clients hold; that of the last round that was asked for is kept."""
        if self._last is None or self._last[0] != round:
            self._last = (round, self._all_hold(round))
        return self._last[1]

    def _all_hold(self, round: int) -> _Now:
        span = self._span(round)
        held = np.where(self.arrivals.exempt, span.sizes, self.memory.held(span))
        if self._rates is None:
            return _Now(held, self.weights.totals(held), 1 / np.maximum(held, 1))
        if self.memory.draws:
            owner, index, _, _ = self._held_rows(round, np.arange(len(held)))
            rates = self._rates.each[self._offsets[owner] + index]
            sums: Float64s = np.bincount(owner, rates, minlength=len(held)).astype(np.float64)
            squares: Float64s = np.bincount(owner, rates**2, minlength=len(held)).astype(np.float64)
        else:
            sums, squares = self._rates.totals(span), self._rates.total_squares(span)
        sums = np.where(held > 0, sums, 0.0)
        relative = np.divide(squares, sums**2, out=np.zeros(len(held)), where=sums > 0)
        return _Now(held, self.weights.given * sums, relative)


def shares_of(totals: Float64s) -> Float64s:
    """Weights that sum to one, without those that are next to nothing; zeros where there is no weight."""
    whole = totals.sum()
    shares = totals / whole if whole > 0 else np.zeros(len(totals))
    return shares if shares.min(initial=1.0) >= NOTHING else np.where(shares < NOTHING, 0.0, shares)


def shuffled_rows(train: Split, seed: int) -> Int64s:
    """All rows, each client's in an order of its own that depends on the seed, the client and the row."""
    owners = train.owners.astype(np.int64)
    inside = np.arange(len(owners)) - train.offsets[owners]
    rows = np.empty(len(owners), np.int64)
    place = ranks(owners, bits(seed, "arrival order", owners, inside))
    rows[train.offsets[owners] + place] = np.arange(len(owners))
    return rows


def _below(state: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
