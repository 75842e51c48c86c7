"""CA-Fed: excludes clients to balance convergence speed and bias (Rodio, Faticanti, Marfoq, Neglia and
Leonardi, "Federated Learning under Heterogeneous and Correlated Client Availability", 2023).

Start from unbiased weights alpha / pi and leave clients out, the most correlated first, then the least
available, wherever that lowers the estimated error

    sum_k p_k (F_k - F_k*)  +  4 kappa^2 d_TV(alpha, p)^2 max_k (F_k - F_k*),     p in proportion to pi q.

With mass m = sum of alpha over the clients kept, d_TV = 1 - m and p = alpha / m: each candidate costs two
sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ...errors import ConfigError, unknown
from ...typing import Array, Bools, ClientIds, Float64s
from .base import AvailabilityContext, Strategy, check_largest, check_positive, strategy_registry
from .bias import biased_importance, total_variation

MINIMA = ("zero", "running")
ROUNDING = 1e-12
"""A decrease must exceed this: otherwise ties would drop everyone."""


class Units(NamedTuple):
    """What is kept or left out together: clients, or whole clusters of them."""

    mass: Float64s
    """Importance of each unit."""
    gap: Float64s
    """Importance times loss gap, summed over each unit's clients."""


def estimated_error(
    weights: Float64s, active: Float64s, importance: Float64s, gaps: Float64s, bias_weight: float
) -> float:
    """The error of weights q, term by term as it is defined; `bias_weight` is kappa^2."""
    biased = biased_importance(active, weights)
    return float(
        biased @ gaps + 4 * bias_weight * total_variation(importance, biased) ** 2 * max(gaps.max(), 0)
    )


def subset_error(mass: float, gap: float, bias_weight: float, largest_gap: float) -> float:
    """The same error for unbiased weights on clients with this mass and this sum of alpha times gap."""
    return gap / mass + 4 * bias_weight * (1 - mass) ** 2 * largest_gap


def prune(
    kept: Bools,
    order: ClientIds,
    units: Units,
    largest_gap: float,
    bias_weight: float,
    threshold: float = 0.0,
) -> Bools:
    """Leave out units in this order where the error falls by more than the threshold; never all of them."""
    kept = kept.copy()
    mass, gap = float(units.mass[kept].sum()), float(units.gap[kept].sum())
    error = subset_error(mass, gap, bias_weight, largest_gap)
    left = int(kept.sum())
    for unit in order[kept[order]]:
        smaller, lower = mass - units.mass[unit], gap - units.gap[unit]
        if left == 1 or smaller <= 0:
            continue
        without = subset_error(smaller, lower, bias_weight, largest_gap)
        if error - without > max(threshold, ROUNDING * max(error, 1.0)):
            kept[unit], left = False, left - 1
            mass, gap, error = smaller, lower, without
    return kept


@strategy_registry.add("ca-fed")
@dataclass
class CAFed(Strategy):
    """Unbiased weights, but correlated or rare clients are left out where that lowers the error."""

    bias_weight: float = 1.0
    """kappa^2: small leaves out many clients, large none (1e6 is the unbiased strategy)."""
    minimum: str = "zero"
    """What a client's smallest loss is taken to be: `zero`, or the `running` minimum of what it reported."""
    new_loss: float = 1.0
    """Weight of a client's newest loss in its running mean."""
    threshold: float = 0.0
    """The least decrease of the error that justifies leaving a client out."""
    largest_weight: float = np.inf
    minima: Float64s | None = field(default=None, kw_only=True)
    """Each client's smallest loss, where it is known, instead of `minimum`."""
    fit_minima: bool = field(default=False, kw_only=True)
    """Whether these losses should be found by fitting every client before a run."""
    groups: ClientIds | None = field(default=None, kw_only=True)
    """The cluster of each client, where clusters must be kept or left out as a whole."""
    loss_noise: float = field(default=0.0, kw_only=True)
    """Standard deviation of noise that clients add to the loss they tell."""
    asks = ("loss",)
    """Which loss clients tell: over all their rows, which costs them a pass."""

    def __post_init__(self) -> None:
        if self.minimum not in MINIMA:
            raise unknown("minimum", self.minimum, MINIMA)
        if not 0 < self.new_loss <= 1:
            raise ConfigError(f"new_loss must be above 0 and at most 1, but is {self.new_loss}.")
        for name in ("bias_weight", "threshold", "loss_noise"):
            check_positive(name, getattr(self, name))
        check_largest(self.largest_weight)
        self._losses = self._least = np.zeros(0)

    @property
    def needs_local_minima(self) -> bool:
        return self.fit_minima and self.minima is None

    def with_local_minima(self, minima: Float64s) -> CAFed:
        return replace(self, minima=minima)

    def check(self, clients: int, rounds: int) -> None:
        for name in ("minima", "groups"):
            given = getattr(self, name)
            if given is not None and len(given) != clients:
                raise ConfigError(f"{name} speaks of {len(given)} clients, but there are {clients}.")
        self._losses = self._least = np.zeros(0)

    def weights(self, situation: AvailabilityContext) -> Float64s:
        self._hear(situation)
        if not len(self._losses):
            return np.minimum(situation.fair_weights, self.largest_weight)
        kept = self._kept(situation)
        return np.where(kept, np.minimum(situation.fair_weights, self.largest_weight), 0.0)

    def gaps(self) -> Float64s:
        """How far each client's loss is estimated to be above its smallest."""
        least = self._least if self.minima is None else self.minima
        return np.maximum(self._losses - least, 0.0)

    def _hear(self, situation: AvailabilityContext) -> None:
        """Take in the losses of the clients that are there; others get their mean at first."""
        there = np.flatnonzero(situation.here)
        if not len(there):
            return
        told = situation.turn.ask(self.asks[0], there)
        if self.loss_noise:
            told = told + self.loss_noise * situation.turn.generator("loss noise").normal(size=len(told))
        told = np.where(np.isfinite(told), told, np.nanmax(np.append(told[np.isfinite(told)], 0.0)))
        if not len(self._losses):
            self._losses = np.full(len(situation.here), told.mean())
            self._losses[there] = told
            self._least = self._losses.copy() if self.minimum == "running" else np.zeros(len(situation.here))
            return
        self._losses[there] += self.new_loss * (told - self._losses[there])
        if self.minimum == "running":
            self._least = np.minimum(self._least, self._losses)

    def _kept(self, situation: AvailabilityContext) -> Bools:
        """The clients that are kept, after both passes."""
        beliefs, gaps = situation.beliefs, self.gaps()
        importance = situation.turn.importance / situation.turn.importance.sum()
        unit = np.arange(len(gaps)) if self.groups is None else np.unique(self.groups, return_inverse=True)[1]
        count = np.bincount(unit)
        units = Units(
            *(np.bincount(unit, part).astype(np.float64) for part in (importance, importance * gaps))
        )
        kept = units.mass > 0
        for key in (-np.abs(beliefs.correlation), beliefs.active):
            order = np.argsort(np.bincount(unit, key) / count, kind="stable")
            kept = prune(kept, order, units, float(gaps.max()), self.bias_weight, self.threshold)
        return kept[unit]

    def state(self) -> dict[str, Array]:
        return {"losses": self._losses.copy(), "least": self._least.copy()}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._losses, self._least = np.array(state["losses"]), np.array(state["least"])


@strategy_registry.add("ca-fed-batch")
@dataclass
class CAFedOnBatches(CAFed):
    """CA-Fed by the loss of one mini-batch, the one with which a client would begin: cheap, and noisy."""

    asks = ("batch_loss",)
