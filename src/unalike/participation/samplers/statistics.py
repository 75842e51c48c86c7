"""Statistics of a sampling scheme: moments of aggregation weights.

Fraboni, Vidal, Kameni and Lorenzi ("A General Theory for Client Sampling in Federated Learning", 2022) show
that three numbers decide: with weights omega_i of mean p_i and one alpha with Cov[omega_i, omega_j] = -alpha
p_i p_j,

    Sigma = sum_i Var[omega_i],     gamma = Sigma + alpha sum_i p_i^2,
    Var[sum_i omega_i] = Sigma - alpha (1 - sum_i p_i^2),

and the mean square of any aggregate is

    E ||sum_i omega_i x_i||^2 = sum_i gamma_i ||x_i||^2 + (1 - alpha) ||sum_i p_i x_i||^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...typing import Float64s

MOST_PAIRS = 2000
"""Up to so many clients, statistics that need all pairs are computed."""


@dataclass(frozen=True)
class WeightStatistics:
    """Exact moments of the aggregation weights of one round."""

    importance: Float64s
    """What each client should weigh on average (p)."""
    mean: Float64s
    variance: Float64s
    inclusion: Float64s
    """The probability that a client takes part at all."""
    variance_of_sum: float
    alpha: float | None = None
    """Cov[i, j] = -alpha p_i p_j for all pairs, where one number says it all."""
    pairwise: Callable[[], Float64s] | None = None
    """The matrix of covariances (its diagonal is not used), where no alpha does."""
    largest_gamma: float | None = None
    """A bound that takes the place of gamma where there is no alpha."""
    clients_variance: float | None = None
    """The variance of the number of distinct clients, where it is known."""

    @property
    def unbiased(self) -> bool:
        """Whether every client counts as it should on average."""
        return bool(np.allclose(self.mean, self.importance, rtol=1e-9, atol=1e-15))

    @property
    def total_variance(self) -> float:
        """Sigma, the sum of the variances."""
        return float(self.variance.sum())

    @property
    def gammas(self) -> Float64s | None:
        """gamma_i = Var[omega_i] + alpha p_i^2, where there is an alpha."""
        return None if self.alpha is None else self.variance + self.alpha * self.importance**2

    @property
    def gamma(self) -> float | None:
        """Their sum, or the bound that takes its place."""
        return self.largest_gamma if self.gammas is None else float(self.gammas.sum())

    @property
    def expected_clients(self) -> float:
        """The mean number of distinct clients."""
        return float(self.inclusion.sum())

    def covariance(self) -> Float64s:
        """All variances and covariances, as a matrix."""
        if self.alpha is not None:
            matrix = -self.alpha * np.outer(self.importance, self.importance)
        elif self.pairwise is not None:
            matrix = self.pairwise().copy()
        else:
            raise ValueError("the covariances of this scheme have no closed form.")
        np.fill_diagonal(matrix, self.variance)
        return matrix

    def second_moment(self, x: Float64s) -> float:
        """E ||sum_i omega_i x_i||^2 for the rows x_i, from all pairs."""
        moments = self.covariance() + np.outer(self.mean, self.mean)
        return float(np.einsum("id,ij,jd->", x, moments, x))


def distinct_variance(absent: Float64s, absent_together: Float64s) -> float:
    """The variance of the number of distinct clients, from P(i absent) and the matrix P(i and j absent)."""
    joint = absent_together - np.outer(absent, absent)
    np.fill_diagonal(joint, absent * (1 - absent))
    return float(joint.sum())


def coin_statistics(importance: Float64s, probabilities: Float64s) -> WeightStatistics:
    """The moments of weights p_i / q_i times independent coins q_i."""
    q = np.where(importance > 0, probabilities, 1.0)
    variance = importance**2 * (1 - q) / q
    inclusion = np.where(importance > 0, probabilities, 0.0)
    return WeightStatistics(
        importance,
        importance,
        variance,
        inclusion,
        float(variance.sum()),
        alpha=0.0,
        clients_variance=float((inclusion * (1 - inclusion)).sum()),
    )
