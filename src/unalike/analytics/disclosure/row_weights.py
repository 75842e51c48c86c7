"""Row weights of a nonlinear model: how much does each row weigh in its sums?

The gradient of a logistic regression is a sum of rows times their probabilities, that of a stratified Cox
regression a sum of rows times their shares of the risk sets, added up over events.
"""

from __future__ import annotations

import numpy as np
import scipy.special

from ...typing import Array, Float64s


def probabilities(x: Float64s, at: Float64s) -> Float64s:
    """The probability of yes for every row of a logistic regression."""
    return np.asarray(scipy.special.expit(x @ at))


def event_weights(x: Float64s, y: Float64s, at: Float64s, ties: str = "breslow") -> Float64s:
    """Each row's share of the risk sets, added up over events; `y` are times, negative where censored.

    >>> times = np.array([1.0, 2.0, 2.0, -3.0])
    >>> event_weights(np.zeros((4, 1)), times, np.zeros(1)).round(3).tolist()
    [0.25, 0.917, 0.917, 0.917]
    >>> event_weights(np.zeros((4, 1)), times, np.zeros(1), "efron").round(3).tolist()
    [0.25, 0.833, 0.833, 1.083]
    """
    order = np.argsort(np.abs(y), kind="stable")
    score = (x @ at)[order]
    risk, times, event = np.exp(score - score.max()), np.abs(y)[order], y[order] > 0
    first, end = np.searchsorted(times, times, side="left"), np.searchsorted(times, times, side="right")
    at_risk = np.cumsum(risk[::-1])[::-1][first]
    share = np.zeros(len(y))
    if ties == "efron":
        before: Array = np.cumsum(event) - event
        share = np.where(event, (before - before[first]) / np.maximum(_between(event, first, end), 1), 0.0)
        at_risk = at_risk - share * _between(risk * event, first, end)
    with np.errstate(all="ignore"):
        hazard = np.where(event, 1 / at_risk, 0.0)
    weights = np.empty(len(y))
    since = np.cumsum(hazard)[end - 1]
    weights[order] = risk * (since - np.where(event, _between(share * hazard, first, end), 0.0))
    return weights


def _between(values: Array, first: Array, end: Array) -> Float64s:
    """Sums of values from `first` to `end`."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(sums[end] - sums[first])
