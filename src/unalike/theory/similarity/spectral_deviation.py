"""Spectral deviation: bounds on the shift of the similarity graph's eigenvalues.

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), propositions 3.3 and
3.4, bound the mean square and the mean size of l'_k - l_k over the non-zero eigenvalues, for the change of
`altered_network.py`. The printed upper bound of the mean square takes tr(M^2) <= (tr M)^2, which needs a
semidefinite M; it is no theorem. What holds is the inequality of Hoffman and Wielandt ("The Variation of the
Spectrum of a Normal Matrix", 1953), sum_k (l'_k - l_k)^2 <= ||L' - L||_F^2, whose mean is

    MSD <= epsilon^2 theta^2 n^2 + 2 n (2 + delta) phi^2.

Lower bounds follow from the trace alone; printed ones miss that a graph is symmetric.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from .altered_network import Alteration, standardized_change


class Bounds(NamedTuple):
    """Between which the mean deviation lies, it is said."""

    lower: float
    upper: float


def squared_deviation_bounds(network: Alteration, corrected: bool = True) -> Bounds:
    """Of the mean squared deviation: as printed, or the corrected lower and the provable upper bound.

    >>> [round(b, 1) for b in squared_deviation_bounds(Alteration(20, 6, 0.7, 0.05, 0.5))]
    [38.6, 85.0]
    >>> [round(b, 1) for b in squared_deviation_bounds(Alteration(20, 6, 0.7, 0.05, 0.5), corrected=False)]
    [37.3, 708.5]
    """
    n, spread = network.clients, (2 + network.delta) * network.phi**2
    moved = (network.epsilon * network.theta) ** 2
    if not corrected:
        lower = (spread / network.pairs + moved) * n**2
        return Bounds(lower, lower * (n - 1))
    return Bounds((2 * spread / network.pairs + moved) * n**2, moved * n**2 + 2 * n * spread)


def absolute_deviation_bounds(network: Alteration, corrected: bool = True) -> Bounds:
    """Of the mean absolute deviation: E|X| of the normal change of the trace, and twice the mean spectrum.

    >>> [round(b, 2) for b in absolute_deviation_bounds(Alteration(10, 6, 0.5, 0.01))]
    [0.97, 119.4]
    """
    n, eps, z = network.clients, network.epsilon, standardized_change(network, corrected)
    scale = (2 if corrected else 1) * (2 + network.delta)
    drift = eps * network.theta * n * (2 * norm.cdf(z) - 1)
    noise = 2 * network.phi * np.sqrt(n * scale / (n - 1)) * norm.pdf(z)
    return Bounds(float(drift + noise), (2 - eps) * network.theta * n)
