"""Quantiles, by counting between edges.

No node tells its smallest or largest value. All values lie within

    mean -+ std sqrt(n - 1)                    (P. Samuelson, "How Deviant Can You Be?", 1968)

so nodes count in equal bins of that range, then of the bin in which the quantile is, and so on, until the bin
is as narrow as asked, or as the bins of nodes that count in their own. The answer comes with the width of its
bin.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import ConfigError
from ...typing import Float64s, Int64s
from .moments import Moments
from .questions import Answer, Nodes, Question, bins_of

Mask = NDArray[np.bool_]
BINS = 64
MOST_TURNS = 12


@dataclass(frozen=True)
class Quantile:
    """Between which values so large a part of all values lies below."""

    probability: float
    low: float
    high: float

    @property
    def value(self) -> float:
        """The middle of the bin, with as many digits as are known."""
        middle, width = 0.5 * (self.low + self.high), self.high - self.low
        return round(middle, math.floor(-math.log10(width))) + 0.0 if 0 < width < 1e-3 else middle

    @property
    def error(self) -> float:
        """How far from the true one the value may be."""
        return 0.5 * (self.high - self.low)


def ask_quantiles(
    nodes: Nodes,
    moments: Moments,
    probabilities: Sequence[float] = (0.25, 0.5, 0.75),
    tolerance: float = 1e-9,
) -> dict[str, list[Quantile]]:
    """Quantiles of every column whose moments are known.

    A quantile is the smallest value that is not below a part `p` of all told values. `tolerance` is the width
    of the last bin, as a part of the standard deviation.
    """
    if any(not 0 < p < 1 for p in probabilities):
        raise ConfigError("quantiles are asked for by probabilities between 0 and 1.")
    known = np.flatnonzero(moments.count > 0)
    names = [moments.names[j] for j in known for _ in probabilities]
    if not names:
        return {}
    count, mean, std = (np.repeat(v[known], len(probabilities)) for v in _numbers(moments))
    reach = np.maximum(std * np.sqrt(np.maximum(count - 1, 0)), 1e-12 * np.maximum(np.abs(mean), 1.0)) * 1.001
    low, high = first = mean - reach, mean + reach
    wanted = np.ceil(np.tile(np.asarray(probabilities), len(known)) * count - 1e-9)
    open_ = np.ones(len(names), bool)
    for _ in range(MOST_TURNS):
        if not open_.any():
            break
        low, high, open_ = _narrow(nodes, names, low, high, wanted, open_, tolerance * std)
    found = _by_column(moments, known, probabilities, low, high)
    learned = dict(zip(names, (low > first[0]) | (high < first[1]), strict=True))
    return {name: quantiles for name, quantiles in found.items() if learned[name]}  # some are not answered


def _narrow(
    nodes: Nodes,
    names: list[str],
    low: Float64s,
    high: Float64s,
    wanted: Float64s,
    open_: Mask,
    width: Float64s,
) -> tuple[Float64s, Float64s, Mask]:
    """Ask once more about the quantiles that are still open; narrower bins, and which are open now."""
    low, high, ask = low.copy(), high.copy(), np.flatnonzero(open_)
    edges = np.linspace(low[ask], high[ask], BINS + 1, axis=1)
    answers = nodes.ask(Question("bins", {"columns": [names[i] for i in ask]}, {"edges": edges}))
    least, most, total = _count_up_to(answers.values(), edges)
    still = np.zeros(len(open_), bool)
    for row, i in enumerate(ask):
        if total[row] < wanted[i]:  # nobody counts this column
            continue
        above, below = least[row] >= wanted[i], most[row] < wanted[i]
        before = high[i] - low[i]
        if above.any():
            high[i] = edges[row, above.argmax()]
        if below.any():
            low[i] = edges[row, len(below) - 1 - below[::-1].argmax()]
        now = high[i] - low[i]
        still[i] = width[i] < now < 0.9 * before and high[i] > np.nextafter(low[i], np.inf)
    return low, high, still


def _count_up_to(answers: Iterable[Answer], edges: Float64s) -> tuple[Float64s, Float64s, Float64s]:
    """How many values are at most each edge, at least and at most, and how many are counted at all; nodes may
    have counted in bins of their own."""
    least, most, total = np.zeros(edges.shape), np.zeros(edges.shape), np.zeros(len(edges))
    for answer in answers:
        for place, wanted in enumerate(edges):
            own, counts = bins_of(answer, place, wanted)
            below = np.concatenate([[0], np.cumsum(counts)])
            least[place] += below[np.searchsorted(own, wanted, side="right")]
            most[place] += below[np.searchsorted(own, wanted, side="left") + 1]
            total[place] += below[-1]
    return least, most, total


def _numbers(moments: Moments) -> tuple[Float64s, Float64s, Float64s]:
    return moments.count, moments.mean, np.nan_to_num(moments.std)


def _by_column(
    moments: Moments, known: Int64s, probabilities: Sequence[float], low: Float64s, high: Float64s
) -> dict[str, list[Quantile]]:
    found: dict[str, list[Quantile]] = {}
    for place, j in enumerate(known):
        rows = range(place * len(probabilities), (place + 1) * len(probabilities))
        found[moments.names[j]] = [
            Quantile(p, float(low[i]), float(high[i])) for p, i in zip(probabilities, rows, strict=True)
        ]
    return found
