"""Homogeneity under a change: how likely does an altered network become less homogeneous?

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), section 3.2. Edge
weights of n clients are independent draws from Normal(theta, phi^2); a change makes them draws from
Normal(theta (1 - epsilon), phi^2 (1 + delta)). Then

    hom ~ Normal(theta / 2, phi^2 / (2 n (n - 1))),
    P(changed hom < hom) = Phi(theta epsilon / phi sqrt(n (n - 1) / (2 (2 + delta)))).

As printed, both count every edge twice as if it were two independent ones: the printed variance is half of
this, and the printed probability lacks the 2 before (2 + delta). Both are here, the corrected by default.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from ...errors import ConfigError


@dataclass(frozen=True)
class Alteration:
    """A network of clients, and how it is changed."""

    clients: int
    theta: float
    """Mean weight of an edge."""
    phi: float
    """Its standard deviation."""
    epsilon: float = 0.0
    """The part of the mean that is lost."""
    delta: float = 0.0
    """The part by which the variance grows."""

    def __post_init__(self) -> None:
        if self.clients < 2:
            raise ConfigError(f"a network of {self.clients} clients has no edges; take at least 2.")
        if not (self.phi > 0 and self.delta > -1 and self.epsilon < 1):
            raise ConfigError(
                "a change of a network needs phi above 0, delta above -1 and epsilon below 1, but they are "
                f"{self.phi}, {self.delta} and {self.epsilon}."
            )

    @property
    def pairs(self) -> int:
        """Ordered pairs of clients: twice the number of edges."""
        return self.clients * (self.clients - 1)


def homogeneity_variance(network: Alteration, corrected: bool = True) -> float:
    """The variance of the homogeneity before the change.

    >>> homogeneity_variance(Alteration(20, 6, 0.7)) / homogeneity_variance(Alteration(20, 6, 0.7), False)
    2.0
    """
    return network.phi**2 / ((2 if corrected else 4) * network.pairs)


def probability_of_less(network: Alteration, corrected: bool = True) -> float:
    """The probability that the changed network is less homogeneous.

    >>> network = Alteration(clients=10, theta=6, phi=0.5, epsilon=0.01)
    >>> round(probability_of_less(network), 3), round(probability_of_less(network, corrected=False), 3)
    (0.715, 0.79)
    """
    return float(norm.cdf(standardized_change(network, corrected)))


def standardized_change(network: Alteration, corrected: bool = True) -> float:
    """The mean loss of homogeneity over the standard deviation of the difference."""
    counted = (2 if corrected else 1) * (2 + network.delta)
    return network.theta * network.epsilon / network.phi * float(np.sqrt(network.pairs / counted))
