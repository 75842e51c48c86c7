"""Gaussian process posterior, conditioned on all rows of a client or on the nearest.

    mean(x) = k(x, X) C^-1 y,      variance(x) = k(x, x) - k(x, X) C^-1 k(X, x)

for the function; a new observation has the noise's variance beside. The factor of C takes the cube of the
rows, so above some thousands each prediction is conditioned on the rows nearest to it (Vecchia, 1988; local
approximation), or all of them on an even subset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from ...errors import DataError, unknown
from ...typing import Float64s
from .kernels import Kernel
from .likelihood import JITTER, LARGEST_JITTER

CONDITIONING = ("auto", "all", "nearest", "subset")
MOST_ROWS = 5000
"""Rows that are conditioned on at once, unless it is asked for."""
_TOGETHER = 256
"""Places that look for their nearest rows together."""


class Prediction(NamedTuple):
    """The function's mean and variance at some places, and the noise of an observation there."""

    mean: Float64s
    variance: Float64s
    noise: float

    def std(self, noisy: bool = True) -> Float64s:
        """The standard deviation of a new observation, or of the function itself."""
        return np.sqrt(self.variance + (self.noise**2 if noisy else 0.0))


@dataclass(frozen=True)
class Posterior:
    """A prior (kernel and log vector) with the rows that it is conditioned on."""

    kernel: Kernel
    params: Float64s
    x: Float64s
    y: Float64s
    conditioning: str = "auto"
    most_rows: int = MOST_ROWS
    neighbors: int = 128

    def __post_init__(self) -> None:
        if self.conditioning not in CONDITIONING:
            raise unknown("conditioning", self.conditioning, CONDITIONING)

    @property
    def way(self) -> str:
        """How predictions are conditioned: all, nearest or subset."""
        if self.conditioning != "auto":
            return self.conditioning
        return "all" if len(self.y) <= self.most_rows else "nearest"

    @property
    def noise(self) -> float:
        """The noise's standard deviation."""
        return float(np.exp(self.params[self.kernel.noise]))

    def predict(self, x: Float64s) -> Prediction:
        """Mean and variance at the rows of x; without rows of its own, those of the prior."""
        if not len(self.y):
            prior = float(self.kernel.signal_variance(self.params))
            return Prediction(np.zeros(len(x)), np.full(len(x), prior), self.noise)
        if self.way == "nearest" and self.neighbors < len(self.y):
            return self._by_nearest(x)
        return self._by_factor(x, *self._conditioned())

    def loss(self) -> float:
        """The negative log marginal likelihood of the rows that are conditioned on at once."""
        x, y = _even_subset(self.x, self.y, self.most_rows)
        if not len(y):
            return 0.0
        factor = factorized(self.kernel, self.params, x)
        return float(
            0.5 * (y @ cho_solve((factor, True), y) + len(y) * np.log(2 * np.pi))
            + np.log(np.diagonal(factor)).sum()
        )

    def whitened(self) -> Float64s:
        """L^-1 y with C = L L', whose entries are independent under the prior."""
        return solve_triangular(factorized(self.kernel, self.params, self.x), self.y, lower=True)

    def _conditioned(self) -> tuple[Float64s, Float64s]:
        return _even_subset(self.x, self.y, self.most_rows) if self.way == "subset" else (self.x, self.y)

    def _by_factor(self, places: Float64s, x: Float64s, y: Float64s) -> Prediction:
        factor = factorized(self.kernel, self.params, x)
        across = self.kernel.covariance(self.params, x, places)
        half = solve_triangular(factor, across, lower=True)
        prior = float(self.kernel.signal_variance(self.params))
        variance = np.maximum(prior - (half**2).sum(axis=0), 0.0)
        return Prediction(half.T @ solve_triangular(factor, y, lower=True), variance, self.noise)

    def _by_nearest(self, places: Float64s) -> Prediction:
        means, variances = [], []
        for start in range(0, len(places), _TOGETHER):
            block = places[start : start + _TOGETHER]
            apart = self.kernel.squared_distances(0, self.params, block, self.x)
            nearest = np.argpartition(apart, self.neighbors, axis=1)[:, : self.neighbors]
            for place, rows in zip(block, nearest, strict=True):
                found = self._by_factor(place[None], self.x[rows], self.y[rows])
                means.append(found.mean)
                variances.append(found.variance)
        nothing = np.zeros(0)
        return Prediction(
            np.concatenate([nothing, *means]), np.concatenate([nothing, *variances]), self.noise
        )


def factorized(kernel: Kernel, params: Float64s, x: Float64s, jitter: float = JITTER) -> Float64s:
    """The Cholesky factor of the covariance of noisy rows, with as little jitter (in decades) as will do."""
    table = kernel.covariance(params, x, x)
    variance = float(kernel.signal_variance(params))
    noise = float(np.exp(2 * params[kernel.noise]))
    while True:
        noisy = table + (noise + jitter * variance) * np.eye(len(x))
        try:
            return np.tril(cho_factor(noisy, lower=True)[0])
        except ValueError:  # LinAlgError is one; so is a covariance that is not finite
            jitter = max(10 * jitter, JITTER)
        if jitter > 1.01 * LARGEST_JITTER:
            raise DataError(
                "the covariance matrix is not positive definite (near-duplicate rows); choose a larger lower "
                "bound of the noise, or leave out repeated rows."
            )


def _even_subset(x: Float64s, y: Float64s, most: int) -> tuple[Float64s, Float64s]:
    """At most so many rows, evenly spread over the order in which they are stored."""
    if len(y) <= most:
        return x, y
    chosen = np.linspace(0, len(y) - 1, most).round().astype(int)
    return x[chosen], y[chosen]
