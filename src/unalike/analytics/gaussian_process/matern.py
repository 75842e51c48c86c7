"""Matern correlations of any smoothness, with slopes.

    k(r)  =  2^(1 - nu) / Gamma(nu)  z^nu K_nu(z),      z = sqrt(2 nu) r
    -2 dk / d(r^2)  =  2 nu 2^(1 - nu) / Gamma(nu)  z^(nu - 1) K_(nu - 1)(z)

with K the modified Bessel function of the second kind, which JAX does not have. For a given nu both are
functions of one number, whose logarithms are nearly straight lines against log z near zero and smooth
everywhere: they are tabulated once by SciPy, with their derivatives (d/dz z^m K_m = -z^m K_(m - 1) for every
m), and read by cubic Hermite interpolation, on NumPy and on JAX alike. The error is below 1e-9.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy

from ...errors import ConfigError
from ...typing import Float64s

SMALLEST, LARGEST = 0.25, 20.0
"""Of nu. Below, functions are hardly more than noise; above, they can hardly be told from those of rbf."""
_CELLS = 8192
_FARTHEST = 700.0
"""The z from which on exp(-z) is nothing."""
AnyArray = Any
"""An array of NumPy or JAX."""


class LogTable(NamedTuple):
    """Logarithms of a function at evenly spaced log z, and their derivatives by log z, times the step."""

    low: float
    step: float
    values: Float64s
    slopes: Float64s

    def exp(self, z: AnyArray) -> AnyArray:
        """The function at z; beyond the ends it is that of the end."""
        xp = z.__array_namespace__()
        last = len(self.values) - 1
        place = xp.clip((xp.log(z) - self.low) / self.step, 0.0, float(last))
        cell = xp.minimum(xp.floor(place), last - 1).astype(int)
        t = place - cell
        v, s = xp.asarray(self.values), xp.asarray(self.slopes)
        rest = 1 - t
        found = (
            (1 + 2 * t) * rest**2 * v[cell]
            + t * rest**2 * s[cell]
            + t**2 * (3 - 2 * t) * v[cell + 1]
            - t**2 * rest * s[cell + 1]
        )
        return xp.exp(found)


def check_smoothness(nu: float) -> float:
    """The same smoothness, if it is one that can be computed."""
    if not SMALLEST <= nu <= LARGEST:
        raise ConfigError(
            f"the smoothness of a Matern kernel must be from {SMALLEST:g} to {LARGEST:g}, but is {nu:g}; "
            "functions that are smoother have the kernel rbf."
        )
    return float(nu)


@lru_cache(maxsize=16)
def correlation_table(nu: float) -> LogTable:
    """Of k."""
    return _table(nu, nu, (1 - nu) * np.log(2) - scipy.special.gammaln(nu))


@lru_cache(maxsize=16)
def slope_table(nu: float) -> LogTable:
    """Of -2 dk / d(r^2)."""
    constant = np.log(2 * nu) + (1 - nu) * np.log(2) - scipy.special.gammaln(nu)
    return _table(nu, nu - 1, constant)


def _table(nu: float, order: float, constant: float) -> LogTable:
    """log of z^order K_order(z), plus a constant."""
    # Up to there, k is one but for 1e-14 of it.
    low = np.log(1e-7) if nu > 1 else np.log(1e-14) / (2 * nu)
    logs = np.linspace(low, np.log(_FARTHEST), _CELLS + 1)
    z = np.exp(logs)
    here, below = (scipy.special.kve(m, z) for m in (order, order - 1))
    step = float(logs[1] - logs[0])
    values = constant + order * logs + np.log(here) - z
    return LogTable(float(low), step, values, -step * z * below / here)
