"""Contraction and slow-down of training with free-riders.

Fraboni, Vidal and Lorenzi, "Free-rider Attacks on Model Aggregation in Federated Learning" (2021). With
honest clients of M_j rows that keep eta_j of their distance in a round, M_J rows in all, and free-riders that
claim M_K rows, the expected distance to the fixed point shrinks in a round by

    a = sum_j (M_j / M_J) eta_j        without them,        H = (M_J a + M_K) / (M_J + M_K)        with them.

The same distance takes ln a / ln H times as many rounds, which tends to (M_J + M_K) / M_J where a round does
little.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError


class Contraction(NamedTuple):
    """What is left of the distance to the fixed point after a round."""

    fair: float
    """a: with honest clients only."""
    ridden: float
    """H: with free-riders."""
    share: float
    """M_K / N: what free-riders weigh."""

    @property
    def slow_down(self) -> float:
        """Rounds with free-riders for every round without; N / M_J in the limit of little local work."""
        return slow_down(self.fair, self.share)


def contraction(sizes: ArrayLike, keep: ArrayLike, claimed: float = 0.0) -> Contraction:
    """The contraction of honest clients with these sizes, that `keep` so much, and of all with free-riders
    who claim so many rows together.

    >>> contraction([600] * 5, 0.5, 3000)
    Contraction(fair=0.5, ridden=0.75, share=0.5)
    """
    rows = np.asarray(sizes, np.float64)
    if rows.ndim != 1 or not len(rows) or not (rows > 0).all() or not 0 <= claimed < math.inf:
        raise ConfigError(
            "contraction needs honest clients with rows, and claimed rows that are not negative."
        )
    honest = float(rows.sum())
    fair = float(rows @ np.broadcast_to(np.asarray(keep, np.float64), rows.shape)) / honest
    return Contraction(fair, (honest * fair + claimed) / (honest + claimed), claimed / (honest + claimed))


def slow_down(fair: float, share: float) -> float:
    """ln a / ln H for a contraction `fair` and free-riders who weigh `share`.

    >>> [round(slow_down(a, 0.5), 2) for a in (0.05, 0.5, 0.9, 1.0)]
    [4.65, 2.41, 2.05, 2.0]
    """
    if not 0 < fair <= 1 or not 0 <= share < 1:
        raise ConfigError(
            "a slow-down needs a contraction between 0 and 1, and a share of free-riders below 1."
        )
    left = 1 - (1 - fair) * (1 - share)
    return 1 / (1 - share) if 1 - fair < 1e-12 else math.log(fair) / math.log(left)
