"""Calibration of the Gaussian mechanism: how much noise hides a client's influence?

    classic   sigma / Psi = sqrt(2 ln(1.25 / delta)) / epsilon                              epsilon < 1 only
    exact     delta = Phi(rho/2 - epsilon/rho) - exp(epsilon) Phi(-rho/2 - epsilon/rho),   rho = Psi / sigma

Dwork and Roth, "The Algorithmic Foundations of Differential Privacy" (2014), and Balle and Wang, "Improving
the Gaussian Mechanism for Differential Privacy: Analytical Calibration and Optimal Denoising" (2018), as used
for unlearning by Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed
Federated Unlearning" (2024). Above epsilon 1 the classic rule is no theorem: at epsilon 10 and delta 0.01 its
noise gives a delta of 0.0406.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import scipy

from ...errors import ConfigError

Calibration = Literal["exact", "classic"]


@dataclass(frozen=True)
class Budget:
    """What a forgotten client may still be told apart by, and the noise that is to hide the rest.

    >>> round(Budget(10, 0.01, 0.05, "classic").largest_sensitivity, 5)
    0.1609
    >>> round(Budget(10, 0.01, 0.05).largest_sensitivity, 5)
    0.14282
    """

    epsilon: float
    delta: float
    sigma: float
    calibration: Calibration = "exact"

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta), ("sigma", self.sigma)):
            if not 0 < value < math.inf:
                raise ConfigError(f"{name} must be above 0, but is {value:g}.")
        if self.delta >= 1:
            raise ConfigError(f"delta must lie between 0 and 1, but is {self.delta:g}.")
        if self.calibration not in get_args(Calibration):
            raise ConfigError(f"the calibration must be exact or classic, not {self.calibration!r}.")

    @property
    def ratio(self) -> float:
        """The largest sensitivity that noise of deviation one hides."""
        rule = classic_ratio if self.calibration == "classic" else exact_ratio
        return rule(self.epsilon, self.delta)

    @property
    def largest_sensitivity(self) -> float:
        """The largest sensitivity that this budget's noise hides: a restart must not exceed it."""
        return self.sigma * self.ratio

    def sigma_for(self, sensitivity: float) -> float:
        """The least deviation of the noise that hides a sensitivity."""
        return sensitivity / self.ratio

    @property
    def certified(self) -> bool:
        """Whether the calibration is a theorem at this epsilon."""
        return self.calibration == "exact" or self.epsilon < 1

    @property
    def true_delta(self) -> float:
        """The delta that noise at the largest sensitivity really gives."""
        return gaussian_delta(self.epsilon, self.ratio)


def classic_ratio(epsilon: float, delta: float) -> float:
    """Sensitivity over noise by the classic rule.

    >>> round(classic_ratio(1, 1e-5), 5)
    0.20641
    """
    return epsilon / math.sqrt(2 * (math.log(1.25) - math.log(delta)))


def exact_ratio(epsilon: float, delta: float) -> float:
    """Sensitivity over noise at which the Gaussian mechanism spends exactly (epsilon, delta).

    >>> round(exact_ratio(1, 1e-5), 5)
    0.26805
    """
    high = 1.0
    while gaussian_delta(epsilon, high) < delta:
        high *= 2
    return float(
        scipy.optimize.brentq(lambda ratio: gaussian_delta(epsilon, ratio) - delta, 0.0, high, xtol=1e-14)
    )


def gaussian_delta(epsilon: float, ratio: float) -> float:
    """The delta at an epsilon of a Gaussian mechanism whose sensitivity is `ratio` deviations of its noise.

    >>> round(gaussian_delta(10, classic_ratio(10, 0.01)), 4)
    0.0406
    """
    if ratio == 0:
        return 0.0
    near, far = ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio
    # In logarithms, because exp(epsilon) overflows long before the product does.
    return float(math.exp(scipy.special.log_ndtr(near)) - math.exp(epsilon + scipy.special.log_ndtr(far)))
