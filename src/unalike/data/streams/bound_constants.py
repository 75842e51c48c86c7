"""Estimator of c2/c1, the constants of a stream's error bound, before training.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023). Clients with historical data make
a few local steps and report three numbers each, of which the server takes the largest: D, how far their model
moved; G, the norm of their gradients; B, their loss before the first step. With d parameters, N rows over the
whole run and F fresh clients,

    c2/c1 ~ (B + sqrt(d / N)) / (G D sqrt(F)),

where the authors took the root of the logarithm as 2, sigma_0 as 2 G, the discrepancy as its bound B and the
pseudo-dimension as d / (10 B)^2. D grows with the number and length of the local steps, which are not
published: the answer depends on them, so they belong into the record.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import NamedTuple

from ...errors import ConfigError
from .optimal_importance import Terms
from .target_importance import USUAL_DISCREPANCY, Tradeoff

STILL = 1e-12
"""A G D below this is no noise at all, and all rows should count the same."""


class LocalReport(NamedTuple):
    """What one client found in its first steps."""

    moved: float
    """The distance of its model from the first one."""
    largest_gradient: float
    """The largest norm of a gradient on the way."""
    loss: float
    """The mean loss of the first model on its rows."""


@dataclass(frozen=True)
class Constants:
    """The five numbers behind c2/c1.

    >>> femnist = Constants(diameter=5.9, gradient=12.9, loss=3.5, parameters=867_390, rows=817_851)
    >>> round(femnist.ratio(fresh=3417), 3)
    0.001
    """

    diameter: float
    gradient: float
    loss: float
    parameters: int
    rows: int

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value) or value < 0 or (field.name == "rows" and value < 1):
                raise ConfigError(f"{field.name} must be a number that is not negative, but is {value}.")

    @classmethod
    def from_reports(cls, reports: Iterable[LocalReport], parameters: int, rows: int) -> Constants:
        """The largest of what clients report.

        >>> Constants.from_reports([LocalReport(1, 2, 0.5), LocalReport(0.5, 3, 0.7)], 21, 200)
        Constants(diameter=1, gradient=3, loss=0.7, parameters=21, rows=200)
        """
        given = list(reports)
        if not given:
            raise ConfigError("c2/c1 cannot be estimated: no client reports what its first steps are like.")
        moved, gradients, losses = zip(*given, strict=True)
        return cls(max(moved), max(gradients), max(losses), parameters, rows)

    @property
    def kappa(self) -> float:
        """c2/c1 times the root of the number of fresh clients, which cancels; infinite without any noise."""
        noise = self.gradient * self.diameter
        return math.inf if noise < STILL else (self.loss + math.sqrt(self.parameters / self.rows)) / noise

    def ratio(self, fresh: float) -> float:
        """c2/c1 for this many fresh clients."""
        if not fresh > 0:
            raise ConfigError("c2/c1 means nothing without fresh clients.")
        return self.kappa / math.sqrt(fresh)

    def terms(self, fresh: float) -> Terms:
        """The factors of the bound phi, for targets other than the shares of rows."""
        samples = math.sqrt(self.parameters / self.rows)
        return Terms(self.gradient * self.diameter * math.sqrt(fresh), self.loss, samples)

    def tradeoff(self, fresh: float) -> Tradeoff:
        """What the constants come to for this many fresh clients: c2/c1, and the part of c2 that stands for
        the discrepancy between clients."""
        samples = math.sqrt(self.parameters / self.rows)
        whole = self.loss + samples
        return Tradeoff(self.ratio(fresh), self.loss / whole if whole > 0 else USUAL_DISCREPANCY)

    @property
    def warning(self) -> str:
        """Why the bound says nothing, or nothing."""
        complexity = self.parameters / (10 * self.loss) ** 2 if self.loss > 0 else math.inf
        if complexity < self.rows:
            return ""
        return (
            f"the bound is empty: the model's complexity, about {complexity:.3g}, is not below the "
            f"{self.rows:,} rows."
        )
