"""Concordance index.

F. Harrell et al., "Evaluating the Yield of Medical Tests", 1982:

    C = P(risk_i > risk_j | i is known to have had the event before j),        equal risks count one half

Of two people with the same time, one with the event came before one without; two events at the same time
tell nothing. C is 1/2 for random risks, and undefined (NaN) where no two people can be compared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...typing import Bools, Float64s


def concordance_index(times: ArrayLike, events: ArrayLike, risks: ArrayLike) -> float:
    """The share of comparable pairs whose risks are in the right order.

    >>> concordance_index([1.0, 2.0, 3.0], [1, 1, 0], [3.0, 2.0, 1.0])
    1.0
    """
    t, risk = np.asarray(times, np.float64), np.asarray(risks, np.float64).ravel()
    happened = np.asarray(events).astype(bool)
    right, pairs = 0.0, 0
    for i in np.flatnonzero(happened).tolist():  # one row of pairs at a time keeps memory linear
        later = _is_known_later(t, happened, i)
        right += float(np.sum(risk[i] > risk[later]) + 0.5 * np.sum(risk[i] == risk[later]))
        pairs += int(later.sum())
    return right / pairs if pairs and np.isfinite(risk).all() else float("nan")


def _is_known_later(t: Float64s, happened: Bools, i: int) -> Bools:
    return (t > t[i]) | ((t == t[i]) & ~happened)
