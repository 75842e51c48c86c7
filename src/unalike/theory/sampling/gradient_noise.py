"""Gradient noise of client sampling: what multinomial and clustered sampling add to the mean gradient.

With clients' gradients g_i, their mean g = sum_i p_i g_i, and the mean g_k = sum_i r_ki g_i of each of the m
distributions of clustered sampling (Fraboni, Vidal, Kameni and Lorenzi, "Clustered Sampling: Low-Variance and
Improved Representativity for Clients Selection in Federated Learning", 2021), the sampled gradient has the
mean squared distance from g

    B_MD = (1/m) (sum_i p_i ||g_i||^2 - ||g||^2),
    B_Cl = (1/m) sum_i p_i ||g_i||^2 - (1/m^2) sum_k ||g_k||^2    <=  B_MD.

With steps sqrt(m / (K T)) the documents give both the rate O(1 / sqrt(m K T)) + O(m K / T).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ConfigError
from ...typing import Float64s

EQUAL = 1e-9
"""How far rows and columns may be from their sums."""


def multinomial_noise(importance: Float64s, gradients: ArrayLike, per_round: int) -> float:
    """B_MD, of multinomial sampling.

    >>> multinomial_noise(np.array([0.5, 0.5]), [-1.0, 1.0], per_round=2)
    0.5

    Args:
        importance: what clients count.
        gradients: a row (or a number) for each client.
        per_round: how many clients are drawn.
    """
    rows = _rows(importance, gradients)
    common = importance @ rows
    return float(importance @ (rows**2).sum(axis=1) - common @ common) / per_round


def clustered_noise(importance: Float64s, gradients: ArrayLike, distributions: ArrayLike) -> float:
    """B_Cl, of one draw from each distribution; zero if each has clients with the same gradient.

    >>> clustered_noise(np.array([0.5, 0.5]), [-1.0, 1.0], [[1.0, 0.0], [0.0, 1.0]])
    0.0

    Args:
        importance: what clients count.
        gradients: a row (or a number) for each client.
        distributions: one row for each draw, whose mean is the importance.
    """
    rows, r = _rows(importance, gradients), np.asarray(distributions, np.float64)
    if r.ndim != 2 or r.shape[1] != len(importance) or not np.allclose(r.sum(axis=1), 1, 0, EQUAL):
        raise ConfigError(f"distributions need rows that sum to one, with {len(importance)} clients each.")
    if not np.allclose(r.mean(axis=0), importance, 0, EQUAL):
        raise ConfigError("the mean of the distributions must be the importance.")
    squares = float(importance @ (rows**2).sum(axis=1))
    return squares / len(r) - float(((r @ rows) ** 2).sum()) / len(r) ** 2


def published_step(per_round: int, local_steps: int, rounds: int) -> float:
    """The local learning rate sqrt(m / (K T)) of the published rates.

    >>> published_step(4, 1, 100)
    0.2
    """
    return math.sqrt(per_round / (local_steps * rounds))


def published_rate(per_round: int, local_steps: int, rounds: int) -> float:
    """1 / sqrt(m K T) + m K / T, up to constants, as published for multinomial and clustered sampling.

    On quadratic losses the constant of multinomial sampling grows with K: at that step its noise is of the
    order of K / sqrt(m K T).

    >>> round(published_rate(4, 1, 100), 4)
    0.09
    """
    return 1 / math.sqrt(per_round * local_steps * rounds) + per_round * local_steps / rounds


def _rows(importance: Float64s, gradients: ArrayLike) -> Float64s:
    given = np.asarray(gradients, np.float64)
    rows = given[:, None] if given.ndim == 1 else given
    if rows.ndim != 2 or len(rows) != len(importance):
        raise ConfigError(f"gradients need one row for each of {len(importance)} clients.")
    return rows
