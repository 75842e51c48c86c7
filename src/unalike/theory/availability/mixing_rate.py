"""Mixing rate of Markov chains of availability.

A Markov chain with transition matrix P forgets where it started at the rate of its second largest eigenvalue
modulus m; with mixing rate r = (m + 1) / 2 and a constant C of its eigenvectors (Sun, Sun and Yin, "On Markov
Chain Gradient OptimizerSteps", 2018),

    |[P^t]_ij - rho_j| <= C r^t.

Clients that come and go independently are the Kronecker product of their chains, whose eigenvalues are the
products of theirs; so m is the largest |correlation| of any client, and leaving out the stickiest ones speeds
mixing up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Float64s

MOST_STATES = 4096
"""Up to so many joint states, a product of chains is written down."""


def second_modulus(chain: ArrayLike) -> float:
    """The second largest modulus of a transition matrix's eigenvalues.

    >>> round(second_modulus([[0.4, 0.6], [0.2, 0.8]]), 12)
    0.2
    """
    values = np.linalg.eigvals(_stochastic(chain))
    return float(np.sort(np.abs(values))[-2]) if len(values) > 1 else 0.0


def independent_modulus(correlation: ArrayLike, included: ArrayLike | None = None) -> float:
    """The second largest modulus of independent clients together, or of those with a positive `included`.

    >>> independent_modulus([0.0, -0.3, 0.9]), independent_modulus([0.0, -0.3, 0.9], included=[1, 1, 0])
    (0.9, 0.3)
    """
    moduli = np.abs(np.asarray(correlation, np.float64))
    kept = moduli if included is None else moduli[np.asarray(included) > 0]
    return float(kept.max(initial=0.0))


def mixing_rate(modulus: float) -> float:
    """The rate r = (m + 1) / 2 of the mixing bound: one half without memory, near one for sticky chains."""
    return (modulus + 1) / 2


def relaxation_time(modulus: float) -> float:
    """After how many rounds a chain has forgotten most of what it was: 1 / (1 - m)."""
    return float("inf") if modulus >= 1 else 1 / (1 - modulus)


def mixing_time_bounds(modulus: float, rarest: float, accuracy: float = 0.25) -> tuple[float, float]:
    """Between which times a reversible chain comes this close (in total variation) to its stationary law.

    `rarest` is the stationary probability of the rarest state.
    """
    slow = relaxation_time(modulus)
    return (slow - 1) * float(np.log(1 / (2 * accuracy))), slow * float(np.log(1 / (accuracy * rarest)))


def mixing_constant(chain: ArrayLike) -> float:
    """The constant C of the mixing bound, from round 0 on, for a chain that can be diagonalised.

    All reversible chains can, so independent two-state clients and clusters of them can, too.
    """
    matrix = _stochastic(chain)
    _, vectors = np.linalg.eig(matrix)
    if np.linalg.cond(vectors) > 1e10:
        raise ConfigError("the chain cannot be diagonalised, so its mixing constant is not known.")
    size = np.linalg.norm(vectors) * np.linalg.norm(np.linalg.inv(vectors))
    return float(np.sqrt(max(len(matrix) - 1, 1)) * size)


def independent_constant(active: ArrayLike) -> float:
    """The constant C of independent two-state chains together, by one pair of eigenvectors for each.

    A chain that is there with probability pi has the right eigenvectors (1, 1) and (pi, pi - 1), whatever its
    correlation. Norms of Kronecker products are products of norms, so any number of chains can be had.

    >>> round(independent_constant([0.5]), 12)
    2.0
    """
    pi = np.asarray(active, np.float64)
    pi = pi[(pi > 0) & (pi < 1)]  # who is always or never there has one state
    sizes = np.sqrt(8 * (pi**2 + (1 - pi) ** 2))
    return float(np.sqrt(max(2.0 ** len(pi) - 1, 1)) * np.prod(sizes))


def stationary_law(chain: ArrayLike) -> Float64s:
    """The probabilities that one step leaves as they are.

    >>> stationary_law([[0.4, 0.6], [0.2, 0.8]])
    array([0.25, 0.75])
    """
    matrix = _stochastic(chain)
    balance = np.vstack([matrix.T - np.eye(len(matrix)), np.ones(len(matrix))])
    law, *_ = np.linalg.lstsq(balance, np.append(np.zeros(len(matrix)), 1.0))
    return np.asarray(np.maximum(law, 0.0))


def joint_chain(chains: Sequence[ArrayLike]) -> Float64s:
    """The transition matrix of independent clients together, over all combinations of their states."""
    matrices = [_stochastic(chain) for chain in chains]
    states = np.prod([float(len(matrix)) for matrix in matrices])
    if states > MOST_STATES:
        raise ConfigError(
            f"{states:.0f} joint states are too many to write down; {MOST_STATES} are possible."
        )
    return reduce(lambda one, two: np.asarray(np.kron(one, two)), matrices, np.ones((1, 1)))


def _stochastic(chain: ArrayLike) -> Float64s:
    matrix = np.asarray(chain, np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ConfigError(f"a transition matrix must be square, but has shape {matrix.shape}.")
    wrong = np.flatnonzero(~((matrix >= 0).all(axis=1) & (np.abs(matrix.sum(axis=1) - 1) < 1e-9)))
    if len(wrong):
        raise ConfigError(
            f"each row of a transition matrix must be probabilities that sum to one, but row {wrong[0]} is "
            f"{matrix[wrong[0]].tolist()}."
        )
    return matrix
