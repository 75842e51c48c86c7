"""Likelihood-ratio attacks: LiRA and RMIA.

    LiRA     log N(s; mean_in, var_in) - log N(s; mean_out, var_out)      s: scaled confidence of the row
    LiRA, offline    how far s is above its mean over models without the row, in deviations
    RMIA     share of others z with  [p(x) / mean_j p_j(x)] >= gamma [p(z) / mean_j p_j(z)]

Carlini, Chien, Nasr, Song, Terzis and Tramer, "Membership Inference Attacks From First Principles" (2022);
Zarifzadeh, Liu and Shokri, "Low-Cost High-Power Membership Inference Attacks" (2024). Models j were trained
on halves of all rows that were drawn at random; with fewer than 16 of a kind, rows share one variance.
"""

from __future__ import annotations

import numpy as np

from ...typing import Array, Bools, Float64s

ENOUGH_FOR_OWN_VARIANCE = 16
_LEAST_VARIANCE = 1e-4


def lira(score: Float64s, references: Float64s, inside: Bools) -> Float64s:
    """The log-likelihood ratio of every row; `references` and `inside` are (models, rows).

    >>> many = np.array([[2.0], [2.2], [0.0], [0.2]])
    >>> rows_in = np.array([[True], [True], [False], [False]])
    >>> bool(lira(np.array([2.0]), many, rows_in)[0] > 0 > lira(np.array([0.1]), many, rows_in)[0])
    True
    """
    mean_in, var_in = _moments(references, inside)
    mean_out, var_out = _moments(references, ~inside)
    return _log_normal(score, mean_in, var_in) - _log_normal(score, mean_out, var_out)


def lira_offline(score: Float64s, references: Float64s, inside: Bools) -> Float64s:
    """Deviations above the mean of models without the row, which need not be trained with it."""
    mean, variance = _moments(references, ~inside)
    return (score - mean) / np.sqrt(variance)


def rmia(likelihood: Float64s, references: Float64s, others: Array, gamma: float = 1.0) -> Float64s:
    """The share of `others` (numbers of rows) that every row outdoes `gamma` times.

    >>> rmia(np.array([0.9, 0.3]), np.array([[0.3, 0.3]]), np.array([1]), 2.0).tolist()
    [1.0, 0.0]
    """
    ratio = np.maximum(likelihood, 1e-30) / np.maximum(references.mean(0), 1e-30)
    ranked = np.sort(gamma * ratio[others])
    return np.searchsorted(ranked, ratio, side="right") / max(len(ranked), 1)


def _moments(values: Float64s, counted: Bools) -> tuple[Float64s, Float64s]:
    """Mean and variance over the models that count, of every row; a row that no model counts for gets the
    mean of all rows."""
    count = counted.sum(0)
    total = np.where(counted, values, 0.0).sum(0)
    mean = np.where(count > 0, total / np.maximum(count, 1), total.sum() / max(int(count.sum()), 1))
    squares = np.where(counted, (values - mean) ** 2, 0.0).sum(0)
    shared = squares.sum() / max(int(np.maximum(count - 1, 0).sum()), 1)
    own = squares / np.maximum(count - 1, 1)
    variance = np.where(count >= ENOUGH_FOR_OWN_VARIANCE, own, shared)
    return mean, np.maximum(variance, _LEAST_VARIANCE)


def _log_normal(x: Float64s, mean: Float64s, variance: Float64s) -> Float64s:
    return -0.5 * (np.log(variance) + (x - mean) ** 2 / variance)
