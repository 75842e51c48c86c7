"""Generalization bound of kNN-Per: when is memory better than the global model?

Marfoq, Neglia, Kameni, Vidal, "Personalized Federated Learning through Local Memorization" (2022), bound the
expected loss of a client that mixes the nearest neighbor (k = 1, share lambda) with the global model,

    (1 + lambda) L* + (1 - lambda) (c1 disc + c3 G) + lambda r (c2 (disc + 1) + c5 G)
    r = sqrt(p) / n_t^(1 / (p + 1)),     G = sqrt(d_H / n) sqrt(c4 + log(n / d_H)),     c4 = max(16 / d_H, 1)

where disc is how far the client's data are from everybody's, L* the best loss of the model's class, p the
length of a key, n_t and n the client's and all rows, and d_H the complexity of the class. It is linear in
lambda, so it only says which end is better; and for long keys it says nothing (p = 1280 and 250 rows: r =
35.6). Its signs are useful: more rows speak for memory, and so do more unlike clients once r < 2 / c2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from unalike.errors import ConfigError


@dataclass(frozen=True)
class Bound:
    """The bound for one client.

    >>> alike, unlike = (Bound(10_000, 20_000, 2, 30, discrepancy=d) for d in (0.0, 0.5))
    >>> alike.preferred, unlike.preferred
    (0.0, 1.0)
    """

    own_rows: int
    all_rows: int
    dimension: int
    complexity: float
    """d_H, such as the Vapnik-Chervonenkis dimension of the model's class."""
    discrepancy: float = 0.0
    best_loss: float = 0.0
    gamma1: float = 1.0
    gamma2: float = 1.0
    """How fast labels may change with the representation, beside gamma1: per excess loss of the model."""
    delta1: float = 4.0

    def __post_init__(self) -> None:
        if self.own_rows < 1 or self.dimension < 1 or not 0 < self.complexity <= self.all_rows:
            raise ConfigError("the bound needs rows, keys of some length, and 0 < complexity <= all rows.")
        if min(self.discrepancy, self.best_loss, self.gamma1, self.gamma2, self.delta1) < 0:
            raise ConfigError("discrepancy, loss and constants of the bound must not be negative.")

    @property
    def radius(self) -> float:
        """r: how far the nearest remembered row may be."""
        return math.sqrt(self.dimension) * self.own_rows ** (-1 / (self.dimension + 1))

    @property
    def estimation(self) -> float:
        """G: what the global model loses because all rows together are finite."""
        ratio, delta2 = self.all_rows / self.complexity, max(16 / self.complexity, 1.0)
        return math.sqrt((delta2 + math.log(ratio)) / ratio)

    @property
    def of_global(self) -> float:
        """The bound at lambda = 0."""
        return self.best_loss + self._common

    @property
    def of_memory(self) -> float:
        """The bound at lambda = 1."""
        return 2 * self.best_loss + self.radius * self._slope

    def at(self, share: float) -> float:
        """The bound at any lambda: linear between its ends."""
        return (1 - share) * self.of_global + share * self.of_memory

    @property
    def preferred(self) -> float:
        """The end of lambda with the smaller bound: 1 for memory, 0 for the global model."""
        return float(self.of_memory < self.of_global)

    @property
    def enough_rows(self) -> float:
        """Own rows from which on memory is preferred; infinite where it never is (or past 1e308)."""
        gain = self._common - self.best_loss
        if gain <= 0:
            return math.inf
        power = (self.dimension + 1) * math.log(math.sqrt(self.dimension) * self._slope / gain)
        return math.exp(power) if power < 709 else math.inf

    @property
    def _common(self) -> float:
        return 2 * self.discrepancy + self.delta1 * self.estimation

    @property
    def _slope(self) -> float:
        c2, c5 = max(12 * self.gamma2, 6 * self.gamma1), 6 * self.gamma2 * self.delta1
        return c2 * (self.discrepancy + 1) + c5 * self.estimation
