"""Realized importances of rows, clients and rounds of a data stream.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023). Every row j that client m holds
in round t has a weight lambda_m(t, j), zero where it is not in memory. With W_m(t) = sum_j lambda_m(t, j),

    p_m(t) = W_m(t) / sum_m W_m(t),     q(t) = sum_m W_m(t) / sum_{s, m} W_m(s),     p_m = sum_t q(t) p_m(t)

is what client m counts in the round, the round in the averaged model, and the client in all; and N_eff = 1 /
sum_j p_j^2, where p_j is what row j counts in all, is the number of rows that were really used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Float64s


def client_totals(weights: ArrayLike, owners: ArrayLike, clients: int) -> Float64s:
    """W_m(t): the sum of each client's weights (rounds, rows) in each round, as (rounds, clients).

    >>> client_totals([[1, 1, 0], [0, 1, 2]], [0, 0, 1], clients=2)
    array([[2., 0.],
           [1., 2.]])
    """
    given = check_weights(weights)
    totals = np.zeros((given.shape[0], clients))
    np.add.at(totals.T, np.asarray(owners, np.int64), given.T)
    return totals


def round_importance(totals: ArrayLike) -> Float64s:
    """p_m(t), from W_m(t) as (rounds, clients); zero in rounds in which nobody has data."""
    given = check_weights(totals)
    sums = given.sum(axis=1, keepdims=True)
    return np.divide(given, sums, out=np.zeros_like(given), where=sums > 0)


def round_weights(totals: ArrayLike) -> Float64s:
    """q(t), from W_m(t).

    >>> round_weights([[1, 1], [0, 2]])
    array([0.5, 0.5])
    """
    given = check_weights(totals)
    return np.asarray(given.sum(axis=1) / given.sum(), np.float64)


def realized_importance(totals: ArrayLike) -> Float64s:
    """p_m, from W_m(t): what each client counts over the whole run.

    >>> realized_importance([[1, 1], [0, 2]])
    array([0.25, 0.75])
    """
    given = check_weights(totals)
    return np.asarray(given.sum(axis=0) / given.sum(), np.float64)


def row_importance(weights: ArrayLike) -> Float64s:
    """p_j, from the weights (rounds, rows): what each row counts over the whole run."""
    return realized_importance(weights)


def effective_samples(rows: ArrayLike) -> float:
    """N_eff = 1 / sum_j p_j^2, from what every row counts; 0 where nothing does.

    >>> effective_samples([0.25, 0.25, 0.25, 0.25]), effective_samples([1.0, 0.0])
    (4.0, 1.0)
    """
    p = np.asarray(rows, np.float64)
    return float(p.sum() ** 2 / (p @ p)) if p.any() else 0.0


def constant_weights(importance: ArrayLike, held: ArrayLike) -> Float64s:
    """The weight of each row that gives clients these importances in every round in which they hold data:
    p_m / |memory|, with the rows held as (rounds, clients) or (clients,).

    >>> constant_weights([0.2, 0.8], [[10, 4], [10, 0]])
    array([[0.02, 0.2 ],
           [0.02, 0.  ]])
    """
    p, rows = np.broadcast_arrays(np.asarray(importance, np.float64), np.asarray(held, np.float64))
    return np.divide(p, rows, out=np.zeros_like(p), where=rows > 0)


def gradient_variability(weights: ArrayLike, gradients: ArrayLike) -> float:
    """sum_t q(t) ||grad L_S - grad of round t||^2 with one gradient per row, at one model.

    The theory takes the supremum over models; the largest value over visited ones is its estimate.

    >>> [gradient_variability(weights, [[1], [-1]]) for weights in ([[1, 0], [0, 1]], [[1, 1], [1, 1]])]
    [1.0, 0.0]
    """
    given, rows = check_weights(weights), np.asarray(gradients, np.float64)
    apart = round_importance(given) @ rows - row_importance(given) @ rows
    return float(round_weights(given) @ (apart**2).sum(axis=1))


def check_weights(weights: ArrayLike) -> Float64s:
    """The same weights, if they are a table of finite numbers, none negative, not all zero."""
    given = np.asarray(weights, np.float64)
    if given.ndim != 2 or not np.isfinite(given).all() or given.min(initial=0.0) < 0 or not given.sum() > 0:
        raise ConfigError("weights of a stream need a row per round, none negative, and not all zero.")
    return given
