"""What the theorems on GIFAIR depend on: a penalty between groups, and a training problem.

With a penalty lam between d groups of |A| clients, client k's loss counts 1 + lam r_k / (p_k |A|) times as
much as usual, r_k from -(d-1) to d-1 (see :mod:`unalike.algorithms.shared.fair_weights`); so, with the
pressure

    rho  =  lam (d-1) / min_k p_k |A|,

between 1 - rho and 1 + rho times (Yue, Nouiehed and Al Kontar, "GIFAIR-FL: A Framework for Group and
Individual Fairness in Federated Learning", 2022; chapter 2 of Yue, "Federated Data Analytics: Theory and
Application", 2023, whose epsilon is 1 - rho).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...algorithms.shared.fair_weights import ClientGroups, choose_lambda
from ...errors import ConfigError
from ..perturbed_gradient.problem import Problem


def pressure_of(groups: ClientGroups, lam: float) -> float:
    """rho, the share of the largest lam; 0 where there is one group.

    >>> two = ClientGroups((0, 1, 1), (0.5, 0.25, 0.25), ("a", "b"))
    >>> pressure_of(two, 0.2)
    0.4
    """
    largest = groups.largest_lambda()
    return 0.0 if math.isinf(largest) else choose_lambda(groups, 0.0, lam) / largest


@dataclass(frozen=True, kw_only=True)
class FairProblem(Problem):
    """The constants of the theorems; Gamma and the optimum are those without penalty."""

    pressure: float
    """rho, from 0 to below 1."""
    local_steps: int = 1
    """E."""
    drawn: int = 0
    """Clients drawn each round, by p_k and with replacement; 0 where all take part."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.pressure < 1:
            raise ConfigError(f"pressure must be in [0, 1), got {self.pressure:g}; lam is then too large.")
        if self.local_steps < 1:
            raise ConfigError(f"local_steps must be at least 1, got {self.local_steps}.")

    @property
    def steepest(self) -> float:
        """(1 + rho) L, the smoothness of a client's weighted loss, at most."""
        return (1 + self.pressure) * self.smoothness

    @property
    def flattest(self) -> float:
        """(1 - rho) mu, the convexity of a client's weighted loss, at least: epsilon mu."""
        return (1 - self.pressure) * self.convexity

    @property
    def longest_step(self) -> float:
        """1 / (4 L (1 + rho)), up to which the theorems on convex losses hold."""
        return 1 / (4 * self.steepest)
