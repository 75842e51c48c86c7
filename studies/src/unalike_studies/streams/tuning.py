"""Learning rates chosen by validation, as published for the tables of data streams.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023), section 4.3.4: for every strategy
the rate of a grid is the one that is best on validation rows; with it, training begins anew on training and
validation rows together, and test rows judge. The published numbers are means over three seeds with bounds
of 95 %, and accuracies are means over clients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from .problems import Problem, mean_accuracy

RATES = tuple(float(10 ** (k / 2)) for k in range(-7, -1))
"""The published grid: 10^-3.5, 10^-3, ..., 10^-1."""
VALIDATION = 0.2
"""The part of each client's rows that validates; it is not published."""
Make = Callable[[int, float], Problem]
"""A problem of a seed, of whose training rows a part validates."""
Score = Callable[[Problem, str, float, int, str], float]
"""What a training comes to: strategy, rate, seed, and the rows that judge."""


class Tuned(NamedTuple):
    """A strategy with the rate that validates best."""

    rate: float
    accuracy: float
    """Of test rows, after training on validation rows, too."""


def train_and_score(problem: Problem, weights: str, rate: float, seed: int, part: str) -> float:
    """The mean accuracy of clients after a training of its own."""
    return mean_accuracy(problem.learn(weights, rate, seed), part)


def choose_rate(
    make: Make, weights: str, rates: Sequence[float], seed: int, score: Score = train_and_score
) -> float:
    """The rate that is best on validation rows of a seed; the smallest of those that are as good.

    Args:
        make: the problem.
        weights: the strategy.
        rates: the grid.
        seed: of the problem and its training.
        score: how a training is judged.
    """
    trial = make(seed, VALIDATION)
    found = [score(trial, weights, rate, seed, "validation") for rate in rates]
    return rates[int(np.argmax(np.nan_to_num(found, nan=-1.0)))]


def tune(
    make: Make, weights: str, rates: Sequence[float], seed: int, score: Score = train_and_score
) -> Tuned:
    """The strategy with the best rate of a grid, trained again on all rows that do not test.

    Args:
        make: the problem.
        weights: the strategy.
        rates: the grid.
        seed: of the problem and its trainings.
        score: how a training is judged.
    """
    rate = choose_rate(make, weights, rates, seed, score) if len(rates) > 1 else rates[0]
    return Tuned(rate, score(make(seed, 0.0), weights, rate, seed, "test"))


def bound(values: Sequence[float]) -> float:
    """Half the width of Student's interval of 95 % for a mean; not a number for a single value.

    >>> round(bound([60.0, 61.0, 62.0]), 2)
    2.48
    """
    if len(values) < 2:
        return float("nan")
    return float(scipy.stats.t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))


def format_tuned(marks: dict[str, list[Tuned]]) -> str:
    """The mean accuracy of every strategy with its bound, and the rates that were chosen, for notes."""
    parts = []
    for name, found in marks.items():
        values = [one.accuracy for one in found]
        rates = "/".join(f"{rate:.2g}" for rate in sorted({one.rate for one in found}))
        spread = f" ± {bound(values):.1f}" if len(values) > 1 else ""
        parts.append(f"{name} {np.mean(values):.1f}{spread} (rate {rates})")
    return "; ".join(parts)


def share_at_edge(marks: dict[str, list[Tuned]], rates: Sequence[float]) -> float:
    """The share of choices that fell on the smallest or the largest rate, so that better ones may lie
    beyond."""
    chosen = [one.rate for found in marks.values() for one in found]
    return float(np.mean([rate in (min(rates), max(rates)) for rate in chosen]))
