"""Summaries of a training: scores of clients, and means over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unalike.data import Federation
from unalike.runs import bottom_decile
from unalike.training.run import Run
from unalike.typing import Float64s


class Score(NamedTuple):
    """Accuracy in per cent: the mean over clients by training rows, and the bottom decile of clients."""

    mean: float
    decile: float


def score(run: Run, split: str = "test") -> Score:
    """How a run's clients do."""
    found = run.evaluate(split)
    return score_of(found["accuracy"], run.setting.federation)


def score_of(accuracy: Float64s, federation: Federation) -> Score:
    """The mean over clients, weighted by their training rows as the paper does, and their bottom decile."""
    seen = np.isfinite(accuracy)
    rows = federation.train.sizes[seen]
    found = 100 * accuracy[seen]
    return Score(float(np.average(found, weights=rows)), bottom_decile(found))


def printed_difference(one: float, other: float) -> str:
    """Two printed numbers and their difference, which is not printed.

    >>> printed_difference(82.7, 68.1)
    '82.7 - 68.1 = 14.6'
    """
    return f"{one:g} - {other:g} = {round(one - other, 4):g}"


def mean_of(curves: Sequence[Any], name: str) -> float:
    """The mean of a property of curves, over seeds."""
    return float(np.mean([getattr(curve, name) for curve in curves]))
