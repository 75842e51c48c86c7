"""Monte-Carlo simulation of altered similarity graphs.

Edge weights are drawn as in `altered_network.py`, one for each pair of clients, A_ij = A_ji ~ Normal(theta,
phi^2), and once more after the change; homogeneity and sorted spectra of both are compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.random import generator
from ...typing import Float64s
from .altered_network import Alteration


@dataclass(frozen=True)
class SimulatedChange:
    """Means over draws."""

    probability: float
    """How often the changed network was less homogeneous."""
    squared_deviation: float
    absolute_deviation: float
    homogeneity_variance: float
    draws: int


def simulate_change(network: Alteration, draws: int = 1000, seed: int = 0) -> SimulatedChange:
    """Draw pairs of networks and compare them.

    >>> found = simulate_change(Alteration(10, 6, 0.5, 0.2), draws=50)
    >>> found.probability, found.squared_deviation > 100
    (1.0, True)
    """
    rng = generator(seed, "altered network")
    n, batch = network.clients, max(1, 2_000_000 // network.clients**2)
    less, squares, sizes, before = 0, 0.0, 0.0, []
    for done in range(0, draws, batch):
        count = min(batch, draws - done)
        old = random_weights(n, network.theta, network.phi, count, rng)
        new = random_weights(
            n, network.theta * (1 - network.epsilon), network.phi * np.sqrt(1 + network.delta), count, rng
        )
        first, second = (weights.sum(axis=(1, 2)) / (2 * network.pairs) for weights in (old, new))
        moved = (_spectra(new) - _spectra(old))[:, 1:]
        less += int((second < first).sum())
        squares += float(np.square(moved).mean(axis=1).sum())
        sizes += float(np.abs(moved).mean(axis=1).sum())
        before.append(first)
    variance = float(np.concatenate(before).var(ddof=1)) if draws > 1 else float("nan")
    return SimulatedChange(less / draws, squares / draws, sizes / draws, variance, draws)


def random_weights(clients: int, theta: float, phi: float, draws: int, rng: np.random.Generator) -> Float64s:
    """Symmetric tables of independent normal weights with a zero diagonal."""
    upper = np.triu(theta + phi * rng.standard_normal((draws, clients, clients)), 1)
    return upper + upper.transpose(0, 2, 1)


def _spectra(weights: Float64s) -> Float64s:
    degrees = weights.sum(axis=2)
    return np.linalg.eigvalsh(degrees[:, :, None] * np.eye(weights.shape[1]) - weights)
