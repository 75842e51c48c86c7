"""Measured spectral deviation of a real network of clients, against its bounds.

The similarity graphs of the same clients before and after a change: the law of `altered_network.py` is fitted
to both,

    epsilon = 1 - theta' / theta,     delta = phi'^2 / phi^2 - 1,

and the deviations of their eigenvalues stand beside the bounds. Real edges share clients and are not
independent, and after a small change each is near what it was, so a measured deviation may well lie below the
"lower" bounds, which speak of two networks that are drawn independently.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data.similarity.graph import spectrum
from ...data.similarity.homogeneity import fit_normal, homogeneity
from ...data.similarity.misalignment import pairs
from ...errors import ConfigError
from ...typing import Document, Float64s
from .altered_network import Alteration, probability_of_less
from .spectral_deviation import absolute_deviation_bounds, squared_deviation_bounds


@dataclass(frozen=True)
class MeasuredChange:
    """Two networks of the same clients."""

    network: Alteration
    """The law that was fitted to both."""
    before: float
    after: float
    """Homogeneity."""
    squared_deviation: float
    absolute_deviation: float

    def as_dict(self) -> Document:
        """Measured values and what printed and corrected formulas say, ready for JSON."""
        network = self.network
        return {
            "homogeneity_before": self.before,
            "homogeneity_after": self.after,
            "epsilon": network.epsilon,
            "delta": network.delta,
            "probability_of_less": {
                "printed": probability_of_less(network, corrected=False),
                "corrected": probability_of_less(network),
            },
            "squared_deviation": {
                "measured": self.squared_deviation,
                "printed": list(squared_deviation_bounds(network, corrected=False)),
                "corrected": list(squared_deviation_bounds(network)),
            },
            "absolute_deviation": {
                "measured": self.absolute_deviation,
                "printed": list(absolute_deviation_bounds(network, corrected=False)),
                "corrected": list(absolute_deviation_bounds(network)),
            },
        }


def compare_networks(before: Float64s, after: Float64s) -> MeasuredChange:
    """What moved between the weights of two graphs of the same clients.

    >>> old = np.array([[0.0, 4.0, 5.0], [4.0, 0.0, 6.0], [5.0, 6.0, 0.0]])
    >>> change = compare_networks(old, old / 2)
    >>> change.network.epsilon, change.network.delta, change.after / change.before
    (0.5, -0.75, 0.5)
    """
    if before.shape != after.shape or len(before) < 3:
        raise ConfigError(
            f"a change needs the same clients before and after, at least 3, but there are {len(before)} and "
            f"{len(after)}."
        )
    old, new = fit_normal(pairs(before)), fit_normal(pairs(after))
    if not (old.theta > 0 and old.phi > 0 and new.phi > 0):
        raise ConfigError("clients that are all equally alike have no law whose change could be measured.")
    moved = (spectrum(after).values - spectrum(before).values)[1:]
    network = Alteration(
        len(before), old.theta, old.phi, 1 - new.theta / old.theta, (new.phi / old.phi) ** 2 - 1
    )
    hom = (homogeneity(before), homogeneity(after))
    return MeasuredChange(network, *hom, float(np.square(moved).mean()), float(np.abs(moved).mean()))
