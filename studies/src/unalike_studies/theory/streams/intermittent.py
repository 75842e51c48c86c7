"""Intermittent clients as data streams, with different data per client.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023), take clients who are always there
for historical ones, and those who are there for a few rounds for fresh ones: a place in the round is taken by
one client after the other, and what it holds changes with the client. If permanent clients should count h,

    p_m(t) = h N_m / N_permanent,     p_m(t) = (1 - h) N_m / sum of the N of those who are there now

and whoever is alone has all the weight. Fresh clients in psi are then the mean number of those who are there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from unalike.data.streams.optimal_importance import share_out
from unalike.errors import ConfigError
from unalike.typing import Bools, Float64s


def presence(arrivals: ArrayLike, stays: ArrayLike, rounds: int) -> Bools:
    """Who is there in which round (rounds, clients), from when they come and how many rounds they stay.

    >>> presence([0, 1], [1, 2], rounds=3).astype(int)
    array([[1, 0], [0, 1], [0, 1]])
    """
    first, last = np.asarray(arrivals, np.int64), np.asarray(arrivals, np.int64) + np.asarray(stays, np.int64)
    now = np.arange(rounds)[:, None]
    return (first <= now) & (now < last)


def active_places(present: ArrayLike, permanent: ArrayLike) -> float:
    """The mean number of intermittent clients in a round: F of psi.

    >>> active_places([[True, True, False], [True, False, True]], [True, False, False])
    1.0
    """
    return float(np.asarray(present, bool)[:, ~np.asarray(permanent, bool)].sum(axis=1).mean())


def present_importance(
    historical: float, sizes: ArrayLike, permanent: ArrayLike, present: ArrayLike
) -> Float64s:
    """p_m(t) as (rounds, clients): what clients count in each round if permanent ones should count h.

    >>> present_importance(0.4, [5, 5, 9], [True, False, False], [[1, 1, 0], [1, 0, 1], [1, 0, 0]])
    array([[0.4, 0.6, 0. ], [0.4, 0. , 0.6], [1. , 0. , 0. ]])
    """
    there, stays = np.asarray(present, bool), np.asarray(permanent, bool)
    rows = np.where(there, np.asarray(sizes, np.float64), 0.0)
    if there.ndim != 2 or there.shape[1] != len(stays):
        raise ConfigError(f"presence needs a column for each of {len(stays)} clients.")
    weights = np.zeros(rows.shape)
    for t, held in enumerate(rows):
        kept, passing = held[stays].sum() > 0, held[~stays].sum() > 0
        if kept or passing:
            weights[t] = share_out(historical if kept and passing else float(kept), held, ~stays)
    return weights
