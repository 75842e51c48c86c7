"""The convergence bound of client sampling, with measured constants.

The bound on the mean squared gradient (Fraboni, Vidal, Kameni and Lorenzi, A General Theory for Client
Sampling in Federated Learning, 2022) depends on the step; schemes are compared at the best step of each,

    min over eta < 1 / (sqrt(6) L K)   of   bound(eta; gamma, Sigma)        where the bound's conditions hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from ..errors import ConfigError
from ..participation import WeightStatistics
from ..typing import Document
from .constants import GradientConstants

STEPS = 200
"""Steps that are tried, over six powers of ten."""


@dataclass(frozen=True)
class SchemeBound:
    """The least bound of a scheme, and the clients' learning rate that has it."""

    scheme: str
    bound: float
    learning_rate: float

    def as_dict(self) -> Document:
        """Ready for JSON."""
        return asdict(self)


def least_bounds(
    statistics: Mapping[str, WeightStatistics],
    constants: GradientConstants,
    local_steps: int = 10,
    rounds: int = 100,
) -> list[SchemeBound]:
    """The bound of every scheme that has one (its weights are right on average), the smallest first."""
    found = [
        _least_bound(name, known, constants, local_steps, rounds)
        for name, known in statistics.items()
        if known.unbiased and known.gamma is not None
    ]
    return sorted((one for one in found if math.isfinite(one.bound)), key=lambda one: one.bound)


def _least_bound(
    name: str, known: WeightStatistics, constants: GradientConstants, local_steps: int, rounds: int
) -> SchemeBound:
    if not constants.smoothness > 0:
        raise ConfigError("there is no bound: the measured losses are not curved at all.")
    longest = 1 / (math.sqrt(6) * constants.smoothness * local_steps)
    best = SchemeBound(name, math.inf, longest)
    for rate in np.geomspace(1e-6 * longest, 0.999 * longest, STEPS).tolist():
        bound = constants.sampling_bound(known, rate, local_steps, rounds)
        if bound.conditions and bound.total < best.bound:
            best = SchemeBound(name, bound.total, rate)
    return best
