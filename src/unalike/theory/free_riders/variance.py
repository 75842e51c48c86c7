"""Variance of the difference of trainings with and without free-riders.

Fraboni, Vidal and Lorenzi, "Free-rider Attacks on Model Aggregation in Federated Learning" (2021). Both are
autoregressions of the first order with noise of their own, so with B = sum_j (M_j rho_j)^2 their difference
has, after many rounds, mean zero and the variance

    V = B / (N^2 (1 - H^2))  +  B / (M_J^2 (1 - a^2))  +  sum_k (M_k phi_k / N)^2 / (1 - H^2)

of the training with free-riders, of the one without, and of disguises. The printed formula has 1 - H^2 in the
second term as well: its proof sums a divergent series. It is right without free-riders and too large with
them. Plain free-riders in fact calm training down: the first term falls with what they claim.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError, unknown
from ...typing import Float64s
from .contraction import contraction

Form = Literal["correct", "printed"]


class Variance(NamedTuple):
    """The three terms of the variance of the difference."""

    ridden: float
    """Of the training with free-riders, from honest clients' noise."""
    fair: float
    """Of the training without."""
    disguise: float
    """Of the training with free-riders, from their noise."""

    @property
    def total(self) -> float:
        """Of the difference."""
        return self.ridden + self.fair + self.disguise

    @property
    def with_free_riders(self) -> float:
        """Of the training with free-riders alone."""
        return self.ridden + self.disguise


def variance(
    sizes: ArrayLike,
    keep: ArrayLike,
    noise: ArrayLike,
    claimed: ArrayLike = (),
    amplitude: ArrayLike = 0.0,
    form: Form = "correct",
    ridden_noise: ArrayLike | None = None,
) -> Variance:
    """The limit of Var[theta_with - theta_without], per coordinate.

    Honest clients have `sizes` rows, keep `keep` and add `noise`; free-riders claim `claimed` rows each and
    disguise themselves by noise of `amplitude`. `ridden_noise` is the honest clients' noise in the training
    with free-riders, where it is another.

    >>> round(variance([600] * 5, 0.5, 0.1, [27000]).total, 5)
    0.00287
    >>> round(variance([600] * 5, 0.5, 0.1, [27000], form="printed").total, 5)
    0.02072
    """
    if form not in ("correct", "printed"):
        raise unknown("form of the variance", str(form), ("correct", "printed"))
    rows, claims = np.asarray(sizes, np.float64), np.atleast_1d(np.asarray(claimed, np.float64))
    if (claims < 0).any():
        raise ConfigError("free-riders cannot claim a negative number of rows.")
    left = contraction(rows, keep, float(claims.sum()))
    honest, everyone = float(rows.sum()), float(rows.sum() + claims.sum())
    calm, still = 1 - left.ridden**2, 1 - left.fair**2
    if not (calm > 0 and still > 0):
        raise ConfigError(
            "local work must bring clients closer to their optimum, or no variance is reached; take at least "
            "one step, and a learning rate above 0 and below 2 / curvature."
        )
    square = _square(rows, noise)
    shares = claims / everyone * np.broadcast_to(np.asarray(amplitude, np.float64), claims.shape)
    return Variance(
        (square if ridden_noise is None else _square(rows, ridden_noise)) / (everyone**2 * calm),
        square / (honest**2 * (still if form == "correct" else calm)),
        float(shares @ shares) / calm,
    )


def printed_turning_point(fair: float) -> float:
    """x = M_K / M_J up to which even the printed variance falls, for plain free-riders.

    >>> [round(printed_turning_point(a), 2) for a in (0.0, 0.5, 0.9)]
    [0.62, 0.28, 0.05]
    """
    return (-(1 + fair) + math.sqrt((1 + fair) ** 2 + 4 * (1 - fair))) / 2


def random_walk_deviation(claimed: ArrayLike, amplitude: ArrayLike) -> float:
    """Where nobody is honest: how far disguises move the model in a round (standard deviation).

    >>> random_walk_deviation([1, 1], [3.0, 4.0])
    2.5
    """
    claims = np.asarray(claimed, np.float64)
    shares = claims / claims.sum() * np.asarray(amplitude, np.float64)
    return float(np.sqrt(shares @ shares))


def _square(rows: Float64s, noise: ArrayLike) -> float:
    """B = sum_j (M_j rho_j)^2."""
    weighed = rows * np.broadcast_to(np.asarray(noise, np.float64), rows.shape)
    return float(weighed @ weighed)
