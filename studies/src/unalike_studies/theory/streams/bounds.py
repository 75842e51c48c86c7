"""Generalization and optimization bounds of learning from a data stream.

Marfoq, Neglia, Kameni, Vidal, "Federated Learning for Data Streams" (2023). For losses in [0, B], convex and
L-smooth in parameters from a set of diameter D, a model of pseudo-dimension d_P, and rows that arrive
independently, the expected excess loss under the target mix of clients is at most eps_opt + 2 eps_gen,

    eps_gen <= disc(P^alpha, P^p) + 5 B sqrt(d_P / N_eff) sqrt(1 + ln(N / d_P))
    eps_opt <= D s + s / sqrt(T) + (C1 + D^2 max(1, s) / 2) / sqrt(T) + C2 / T^(3/2)
    s^2     <= sigma_0^2 F sum_{fresh} p_m^2

where s is the variability of gradients from round to round. As printed (G.742), the term of the start is
C3 / sqrt(T) with a constant C3; but with the step size min(1, 1/s) / sqrt(T) of the theorem, the distance
D^2 / 2 over the sum of steps in (G.741) grows with s, and what is printed is no bound for large s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unalike.data.streams.optimal_importance import fresh_norm, imbalance
from unalike.data.streams.realized_weights import (
    check_weights,
    realized_importance,
    round_importance,
    round_weights,
)
from unalike.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The constants that the bounds depend on.

    >>> round(Problem(largest_loss=2.0, smoothness=4.0, rows=100).largest_gradient, 6)
    4.0
    """

    largest_loss: float
    """B: losses are between 0 and this."""
    smoothness: float = 1.0
    """L: gradients change at most so much per unit of distance."""
    diameter: float = 1.0
    """D: no two models are further apart."""
    complexity: float = 1.0
    """d_P, the pseudo-dimension of the class of models."""
    rows: int = 1
    """N: rows of all clients over the whole run."""
    rounds: int = 1
    local_steps: int = 1
    discrepancy: float = 0.0
    """The largest difference of two clients' losses at one model, at most B."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), 0.0 if field.name == "discrepancy" else 1e-300
            if not math.isfinite(value) or value < least:
                raise ConfigError(
                    f"{field.name} must be {'above' if least else 'at least'} 0, but is {value}."
                )
        if self.complexity >= self.rows:
            raise ConfigError(
                f"the bound needs more rows ({self.rows:,}) than the complexity of the model "
                f"({self.complexity:g})."
            )

    @property
    def largest_gradient(self) -> float:
        """G = sqrt(2 L B): no gradient is longer."""
        return math.sqrt(2 * self.smoothness * self.largest_loss)


def discrepancy_bound(target: ArrayLike, importance: ArrayLike, largest: float) -> float:
    """How far the mix of clients p is from the target alpha: ||alpha - p||_1 times the largest discrepancy.

    >>> discrepancy_bound([0.5, 0.5], [0.75, 0.25], 2.0)
    1.0
    """
    return largest * float(np.abs(np.asarray(target, float) - np.asarray(importance, float)).sum())


def generalization_bound(problem: Problem, effective: float, distance: float = 0.0) -> float:
    """eps_gen, from N_eff and the discrepancy between the target and the importances.

    >>> problem = Problem(largest_loss=1.0, complexity=100.0, rows=10_000)
    >>> round(generalization_bound(problem, 10_000), 3), round(generalization_bound(problem, 2_500), 3)
    (1.184, 2.368)
    """
    logarithm = math.sqrt(1 + math.log(problem.rows / problem.complexity))
    return distance + 5 * problem.largest_loss * math.sqrt(problem.complexity / effective) * logarithm


def optimization_bound(problem: Problem, variability: float) -> float:
    """eps_opt, from the variability s of gradients; D s is left however many rounds there are."""
    gradient, later, rounds = problem.largest_gradient, 1 - 1 / problem.local_steps, problem.rounds
    c1 = gradient * (2.5 * gradient + problem.smoothness * problem.diameter * math.sqrt(2 * later))
    c2 = 2 * problem.smoothness**2 * gradient**2 * later
    c3 = problem.diameter**2 * max(1.0, variability) / 2
    lasting = problem.diameter * variability
    return lasting + (variability + c1 + c3) / math.sqrt(rounds) + c2 / rounds**1.5


def variability_bound(importance: ArrayLike, fresh: ArrayLike, noise: float) -> float:
    """s <= sigma_0 sqrt(F sum_{fresh} p_m^2), where fresh clients hold other rows in every round.

    >>> variability_bound([1.0, 0.0], [False, True], 3.0), variability_bound([0.0, 1.0], [False, True], 3.0)
    (0.0, 3.0)
    """
    count = np.count_nonzero(np.asarray(fresh, bool))
    return noise * math.sqrt(count) * float(fresh_norm(importance, fresh))


def drifting_importance(totals: ArrayLike) -> float:
    """sum_t q(t) sum_m (p_m - p_m(t))^2, from W_m(t): for any memory s^2 is of the order of sigma_0^2 plus
    the clients' dissimilarity times this.

    >>> drifting_importance([[1, 1], [1, 1]]), drifting_importance([[1, 0], [0, 1]])
    (0.0, 0.5)
    """
    given = check_weights(totals)
    apart = round_importance(given) - realized_importance(given)
    return float(round_weights(given) @ (apart**2).sum(axis=1))


class Coefficients(NamedTuple):
    """psi(p) = c0 + c1 sqrt(sum_{fresh} p_m^2) + c2 sqrt(sum_m p_m^2 / n_m), for the target alpha = n."""

    c1: float
    c2: float

    @property
    def ratio(self) -> float:
        """c2/c1, all that the best importances depend on."""
        return self.c2 / self.c1 if self.c1 > 0 else math.inf


def coefficients(problem: Problem, fresh: int, noise: float | None = None) -> Coefficients:
    """c1 and c2 for this many fresh clients; `noise` is sigma_0, at most 2 G, which it is when not given."""
    sigma = 2 * problem.largest_gradient if noise is None else noise
    c1 = sigma * math.sqrt(fresh) * (problem.diameter + 2 / math.sqrt(problem.rounds))
    return Coefficients(c1, 2 * generalization_bound(problem, problem.rows, problem.discrepancy))


def error_bound(problem: Problem, importance: ArrayLike, shares: ArrayLike, fresh: ArrayLike) -> float:
    """eps_opt + 2 eps_gen for constant importances and the target alpha = n."""
    effective = problem.rows / float(imbalance(importance, shares))
    distance = discrepancy_bound(shares, importance, problem.discrepancy)
    variability = variability_bound(importance, fresh, 2 * problem.largest_gradient)
    return optimization_bound(problem, variability) + 2 * generalization_bound(problem, effective, distance)
