"""Row weights 1 / tau: in how many rounds is each row in memory?

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023): where row j of client m is in
memory for tau_mj of the T rounds (T for a row that is there from the start and stays), weights

    lambda_m(t, j) = p_m / (N_m tau_mj)      give      p_{m,j} = p_m / N_m,

with N_m the client's rows that are ever in memory: all rows of a client count the same over the whole run,
however irregularly they arrive and however long they stay, and the client counts p_m.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...typing import Float32s, Float64s, Int64s
from .memory import Span


class RowRates(NamedTuple):
    """1 / (N_m tau_mj) of every row, in the order of arrival, one client after the other."""

    each: Float64s
    offsets: Int64s
    """Where each client's rows begin."""
    sums: Float64s
    """Of the rates before each row, and of all of them at the end."""
    squares: Float64s
    """The same of their squares."""
    alike: bool
    """Whether all rows of a client have the same rate."""

    def totals(self, span: Span) -> Float64s:
        """The sum of the rates of each client's rows in a span."""
        return self._between(self.sums, span)

    def total_squares(self, span: Span) -> Float64s:
        """The sum of their squares."""
        return self._between(self.squares, span)

    def relative(self, places: Int64s, owner: Int64s, held: Int64s) -> Float32s | None:
        """The rates of rows, divided by the mean of their client's rows; None where all rows of a client have
        the same in the whole run."""
        if self.alike:
            return None
        rates = self.each[places]
        means = np.bincount(owner, rates, minlength=len(held)) / np.maximum(held, 1)
        weights: Float32s = (rates / means[owner]).astype(np.float32)
        return weights

    def _between(self, sums: Float64s, span: Span) -> Float64s:
        starts = self.offsets[:-1]
        found = sums[starts + np.maximum(span.last, span.first)] - sums[starts + span.first]
        return np.maximum(found, 0.0)


class LifetimeCounter:
    """Counts the rounds in which each row is in memory; a round may count more or less than one.

    >>> counter = LifetimeCounter(np.array([0, 3]))
    >>> for first, last in ((0, 2), (1, 3), (2, 3)):
    ...     counter.add_span(Span(np.array([first]), np.array([last])))
    >>> counter.sums().tolist()
    [1.0, 2.0, 2.0]
    """

    def __init__(self, offsets: Int64s) -> None:
        self._offsets = offsets
        # Of each client one place more than it has rows: where a span ends with its last row.
        self._starts = offsets[:-1] + np.arange(len(offsets) - 1)
        self._changes = np.zeros(int(offsets[-1]) + len(offsets) - 1)
        self._single = np.zeros(int(offsets[-1]))

    def add_span(self, span: Span, weights: Float64s | float = 1) -> None:
        """One round in which clients hold these rows, and what it counts, for all clients or for each."""
        last = np.maximum(span.last, span.first)
        self._changes[self._starts + span.first] += weights
        self._changes[self._starts + last] -= weights

    def add_rows(self, places: Int64s, weights: Float64s | float = 1) -> None:
        """One round in which these rows are held, and what it counts, for all rows or for each."""
        self._single[places] += weights

    def sums(self) -> Float64s:
        """tau of every row, if all rounds count one; else the sum of what its rounds count."""
        kept = np.ones(len(self._changes), bool)
        kept[self._starts + np.diff(self._offsets)] = False
        # What is added and taken away again leaves a rounding error.
        return np.maximum(np.cumsum(self._changes)[kept], 0.0) + self._single


def row_rates(lifetimes: Int64s, offsets: Int64s) -> RowRates:
    """1 / (N_m tau_mj), from how many rounds each row is in memory. Rows that no round has in memory, which
    come only where a run goes on for longer, get the mean rate of their client.

    >>> row_rates(np.array([2, 1, 0]), np.array([0, 3])).each.tolist()
    [0.25, 0.5, 0.375]
    """
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    seen = lifetimes > 0
    counts = np.bincount(owners[seen], minlength=len(offsets) - 1)
    rates = np.where(seen, 1.0 / np.where(seen, lifetimes, 1), 0.0) / np.maximum(counts, 1)[owners]
    usual = np.bincount(owners, rates, minlength=len(offsets) - 1) / np.maximum(counts, 1)
    each = np.where(seen, rates, np.where(usual > 0, usual, 1.0)[owners])
    sums, squares = (np.concatenate([np.zeros(1), np.cumsum(v)]) for v in (each, each**2))
    first = np.zeros(len(offsets) - 1)
    first[owners[seen][::-1]] = each[seen][::-1]
    return RowRates(each, offsets, sums, squares, bool((each[seen] == first[owners[seen]]).all()))
