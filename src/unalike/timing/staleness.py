"""Staleness discounts, and corrected weights.

A client that takes part in a share f_i of all aggregations with weight d_i counts q_i = f_i d_i in the long
run. So uncorrected weights minimize another objective, which favors quick clients, and d_i = p_i / f_i is
right for every policy (Fraboni, Vidal, Kameni and Lorenzi, "A General Theory for Federated Optimization with
Asynchronous and Heterogeneous Clients Updates", 2023). Old results can be discounted on top (Xie, Koyejo and
Gupta, "Asynchronous Federated Optimization", 2019), which is a bias again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.registry import Registry
from ..errors import ConfigError, unknown
from ..typing import Array, ClientIds, Float64s, Int64s

MODES = ("corrected", "identical", "online")
Discount = Callable[[Int64s], Float64s]
discount_registry: Registry[Discount] = Registry("staleness discount", "staleness")


@discount_registry.add("constant")
def constant() -> Discount:
    """Old results count as much as new ones."""
    return lambda staleness: np.ones(len(staleness))


@discount_registry.add("polynomial")
def polynomial(power: float = 0.5) -> Discount:
    """(1 + s)^-power for a result that is s versions old."""
    return lambda staleness: np.asarray((1.0 + staleness) ** -power, np.float64)


@discount_registry.add("hinge")
def hinge(slope: float = 10.0, free: float = 4.0) -> Discount:
    """One up to `free` versions, then 1 / (slope (s - free) + 1)."""
    return lambda staleness: 1 / (slope * np.maximum(staleness - free, 0.0) + 1)


class ResultWeights:
    """Weights of results by client, and what is learnt of how often each client reports.

    >>> weighing = ResultWeights("corrected", np.array([0.5, 0.5]), np.ones(2), np.array([1.0, 0.5]))
    >>> weighing.of(np.array([0, 1]), np.array([0, 3]))
    array([0.5, 1. ])
    """

    def __init__(
        self,
        mode: str,
        importance: Float64s,
        uncorrected: Float64s,
        frequency: Float64s | None = None,
        discount: str = "constant",
        largest: float = np.inf,
    ) -> None:
        if mode not in MODES:
            raise unknown("weights", mode, MODES)
        if not largest > 0:
            raise ConfigError(f"the largest weight must be positive, but is {largest}.")
        self.mode, self.importance, self.largest = mode, importance, largest
        self.discount = None if discount == "constant" else discount_registry.make(discount)
        self.reports, self.steps = np.zeros(len(importance)), 0
        if mode == "corrected":
            if frequency is None:
                raise ConfigError("nobody knows how often clients will report here; use online weights.")
            uncorrected = np.where(frequency > 0, importance / np.maximum(frequency, 1e-300), 0.0)
        self.fixed = np.minimum(uncorrected, largest)

    def of(self, clients: ClientIds, staleness: Int64s) -> Float64s:
        """What these clients' results weigh."""
        weights = self._online(clients) if self.mode == "online" else self.fixed[clients]
        return weights if self.discount is None else weights * self.discount(staleness)

    def saw(self, clients: ClientIds) -> None:
        """A step with these clients."""
        self.reports[clients] += 1
        self.steps += 1

    def _online(self, clients: ClientIds) -> Float64s:
        """p_i / f_i with the share of steps so far, this one included; one report is all that is known at
        first."""
        steps, reports = self.steps + 1, self.reports[clients] + 1
        importance = self.importance[clients]
        return np.clip(importance * steps / reports, importance, self.largest)

    def state(self) -> dict[str, Array]:
        """What was learnt."""
        return {"reports": self.reports.copy(), "counted": np.array(self.steps)}

    def restore(self, state: Any) -> None:
        """The inverse of :meth:`state`."""
        self.reports, self.steps = np.array(state["reports"]), int(state["counted"])
