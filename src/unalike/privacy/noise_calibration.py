"""Noise calibration to a privacy budget.

    the smallest z  with  epsilon(z) <= budget,       epsilon(z): what the planned releases cost at noise z

An accountant says what a noise multiplier z costs, and its answer falls as z grows; so the multiplier is
found by halving an interval, and the end that keeps the budget is taken. R Gaussian releases of a client cost
as much as one with z / sqrt(R) (Bun and Steinke, "Concentrated Differential Privacy: Simplifications,
Extensions, and Lower Bounds", 2016).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..core.extras import check_extra
from ..errors import ConfigError
from .accountant import charge_epsilon

LEAST, MOST = 2.0**-10, 2.0**30
"""Noise multipliers among which one is looked for."""
PRECISION = 1e-5


def release_noise(epsilon: float, delta: float, releases: int) -> float:
    """The noise multiplier with which so many Gaussian releases cost a client at most epsilon at delta."""
    check_budget(epsilon, delta)
    return smallest_noise(lambda noise: charge_epsilon(max(releases, 1) / noise**2, delta), epsilon)


def smallest_noise(spent: Callable[[float], float], epsilon: float) -> float:
    """The smallest multiplier, up to a part of 1e-5, that does not spend more than epsilon.

    >>> round(smallest_noise(lambda noise: 3 / noise, 2.0), 3)
    1.5
    """
    high = 1.0
    while spent(high) > epsilon:
        if high >= MOST:
            raise ConfigError(f"no noise is enough for epsilon {epsilon:g}; choose a larger one.")
        high *= 2
    low = high / 2
    while low > LEAST and spent(low) <= epsilon:
        low, high = low / 2, low
    while high / low > 1 + PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if spent(middle) <= epsilon else (middle, high)
    return high


def check_accountant() -> None:
    """Raise where nothing can count what noisy steps on samples of rows spend, so that no budget can be
    kept."""
    check_extra("dp_accounting", "privacy", "keeping a privacy budget of single rows")


def check_budget(epsilon: float, delta: float) -> None:
    """Raise for numbers that are no budget."""
    if not 0 < epsilon < math.inf or not 0 < delta < 1:
        raise ConfigError(
            "a privacy budget is an epsilon above 0 and a delta between 0 and 1, but they are "
            f"{epsilon:g} and {delta:g}."
        )
