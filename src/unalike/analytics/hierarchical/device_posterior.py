"""Posterior of one device's coefficients: draws by composition, intervals and tests.

    phi_m ~ q,    theta_m ~ N( S (X'y / noise + mu_m / tau_m), S ),    S = (X'X / noise + diag(1 / tau_m))^-1

Draws of two devices belong to the same phi_m, so that they can be subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...typing import Bools, Float64s
from ..forecast import DrawnForecast, Forecast


class ContrastTest(NamedTuple):
    """A linear combination of coefficients against zero."""

    estimate: float
    std_error: float
    lower: float
    upper: float
    tail_probability: float
    """Twice the posterior probability of the rarer sign."""
    rejected: bool
    """Whether the interval excludes zero."""


@dataclass(frozen=True)
class DevicePosterior:
    """Draws of a device's coefficients (draws x coefficients), and what they say.

    >>> draws = np.random.default_rng(0).normal([3.0, 0.0], 1.0, size=(4000, 2))
    >>> DevicePosterior(draws, ("a", "b")).selected()
    array([ True, False])
    """

    draws: Float64s
    terms: tuple[str, ...]
    noise: float = 0.0
    """The variance of the device's noise, for predictive intervals."""

    @property
    def mean(self) -> Float64s:
        """The posterior mean of every coefficient."""
        return self.draws.mean(axis=0)

    @property
    def std(self) -> Float64s:
        """The posterior standard deviation of every coefficient."""
        return self.draws.std(axis=0, ddof=1)

    def interval(self, level: float = 0.95) -> Float64s:
        """Equal-tailed credible intervals, one row (lower, upper) per coefficient."""
        return interval_of(self.draws, level)

    def selected(self, level: float = 0.9) -> Bools:
        """Which coefficients have an interval that excludes zero."""
        lower, upper = self.interval(level).T
        return (lower > 0) | (upper < 0)

    def test(self, contrast: str | ArrayLike, level: float = 0.95) -> ContrastTest:
        """A coefficient by name, or a linear combination of all of them, against zero."""
        return contrast_test(self.draws @ self.weights(contrast), level)

    def weights(self, contrast: str | ArrayLike) -> Float64s:
        """The weights of a contrast; a name stands for one coefficient."""
        if isinstance(contrast, str):
            return np.eye(len(self.terms))[self.terms.index(contrast)]
        return np.asarray(contrast, np.float64)

    def minus(self, other: DevicePosterior) -> DevicePosterior:
        """The difference of two devices' coefficients."""
        return DevicePosterior(self.draws - other.draws, self.terms)

    def forecast(self, x: Float64s) -> Forecast:
        """New responses at rows of the design matrix."""
        means = self.draws @ x.T
        spread = np.sqrt(np.var(means, axis=0) + self.noise)
        return DrawnForecast(x @ self.mean, spread, draws=means, noise=self.noise)

    def predictive_interval(self, x: ArrayLike, level: float = 0.95, seed: int = 0) -> Float64s:
        """Where a new response at each row of x will be, one row (lower, upper) each."""
        means = self.draws @ np.asarray(x, np.float64).T
        rng = np.random.default_rng(seed)
        return interval_of(means + np.sqrt(self.noise) * rng.normal(size=means.shape), level)


def interval_of(draws: Float64s, level: float) -> Float64s:
    """Equal-tailed intervals of each column, as rows (lower, upper)."""
    tail = (1 - level) / 2
    return np.quantile(draws, [tail, 1 - tail], axis=0).T


def contrast_test(values: Float64s, level: float) -> ContrastTest:
    """What draws of one number say of its being zero."""
    lower, upper = interval_of(values[:, None], level)[0]
    positive = float(np.mean(values > 0))
    tail = min(1.0, 2 * min(positive, 1 - positive))
    spread = float(values.std(ddof=1))
    return ContrastTest(float(values.mean()), spread, lower, upper, tail, bool(lower > 0 or upper < 0))


def compose(
    gram: Float64s, cross: Float64s, noise: Float64s, mu: Float64s, tau: Float64s, rng: np.random.Generator
) -> Float64s:
    """One draw of the coefficients for each row of mu and tau; noise is a number or one for each row."""
    noise = np.broadcast_to(noise, len(mu))[:, None]
    width = len(cross)
    precision = gram / noise[:, :, None] + (1 / tau)[:, :, None] * np.eye(width)
    factor = np.linalg.cholesky(precision)
    center = np.linalg.solve(precision, (cross / noise + mu / tau)[:, :, None])[:, :, 0]
    whites = rng.normal(size=(len(mu), width, 1))
    return center + np.linalg.solve(np.swapaxes(factor, 1, 2), whites)[:, :, 0]
