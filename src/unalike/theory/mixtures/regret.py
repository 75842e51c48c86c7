"""Regret of online learning against a fixed rival, and how it grows.

A client commits to theta_t before step t, and is judged against what it could have played always:

    R_T  =  sum_t loss_t(theta_t)  -  sum_t loss_t(rival);      slope  =  log(R_T / R_{T/4}) / log 4

which is about 1/2 for regret like sqrt(T) and 1 for a linear one.
"""

from __future__ import annotations

import math

import numpy as np

from ...typing import Float64s


def regret_curve(played: Float64s, fixed: Float64s) -> Float64s:
    """R_1, R_2, ... from the losses of each step, played and of a fixed rival.

    >>> regret_curve(np.array([2.0, 1.0]), np.array([1.0, 1.5])).tolist()
    [1.0, 0.5]
    """
    return np.cumsum(np.asarray(played, np.float64) - fixed)


def regret_slope(curve: Float64s, factor: int = 4) -> float:
    """The exponent of T between T / 4 and T; NaN where the regret is not positive at both ends.

    >>> round(regret_slope(np.sqrt(np.arange(1, 401))), 6)
    0.5
    """
    first, last = float(curve[max(len(curve) // factor, 1) - 1]), float(curve[-1])
    return math.log(last / first) / math.log(factor) if min(first, last) > 0 else math.nan
