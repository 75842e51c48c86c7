"""Bounded sensitivity: how far did a client move the model? (A norm per client and round, and their sums.)

    |Delta(I) - Delta(I without c)|  =  p_c / (1 - p_c) |theta_c - mean|               one client, one round
    Psi(n + 1, c)  =  q Psi(n, c)  +  server_rate p_c / (1 - p_c) |theta_c - mean|        Psi(0, c) = 0

Fraboni, Van Waerebeke, Scaman, Vidal, Kameni and Lorenzi, "SIFU: Sequential Informed Federated Unlearning"
(2024). Psi bounds the distance between the models trained with and without the client where local steps do
not push models apart: convex losses with step sizes of at most :func:`longest_step`. What is recorded of a
round is each client's norm and weight; the modes differ in whose weight p_c is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...errors import ConfigError
from ...typing import ClientIds, Float64s

Mode = Literal["full", "realized", "reference"]
MODES: dict[str, str] = {
    "full": "every client took part in every round",
    "realized": "weights among the clients that were drawn, as the server averaged them",
    "reference": "weights among all remaining clients although only some were averaged (undercounts)",
}
"""Whose weights the increments use."""


@dataclass(frozen=True)
class Ledger:
    """What is known of every client's uploads in every round of one training (rounds x clients).

    >>> ledger = Ledger(np.array([[2.0, 2.0]]), np.array([[0.5, 0.5]]), np.array([0.5, 0.5]))
    >>> ledger.sensitivity("full").tolist()
    [[0.0, 0.0], [2.0, 2.0]]
    """

    deviations: Float64s
    """The norm of each upload minus the weighted mean of all; 0 for clients that were not there."""
    weights: Float64s
    """What each weighed in that mean; rows sum to one, or to zero where nobody came."""
    importance: Float64s
    """What each weighs among all clients of this training; sums to one."""
    discount: float = 1.0
    """How much of a sensitivity is left after a round (q)."""
    server_rate: float = 1.0

    def shares(self, mode: Mode) -> Float64s:
        """The weights p_c of every round by a mode; 0 for clients that were not there."""
        if mode == "reference":
            return np.where(self.weights > 0, self.importance, 0.0)
        return self.weights

    def increments(self, mode: Mode) -> Float64s:
        """What every round adds to every client's sensitivity; infinite where a client was alone."""
        shares = self.shares(mode)
        return self.server_rate * _moved(shares, 1 - shares, self.deviations)

    def sensitivity(self, mode: Mode) -> Float64s:
        """The bounded sensitivity of every client after 0, 1, 2, ... rounds (one more row than rounds)."""
        return accumulate(self.increments(mode), self.discounts)

    def group_sensitivity(self, mode: Mode, clients: ClientIds) -> Float64s:
        """A bound on what several clients together moved, after 0, 1, 2, ... rounds (one column).

        By the triangle inequality: sum_c p_c / (1 - p_W) |theta_c - mean|, with p_W the sum of their weights.
        """
        shares = self.shares(mode)[:, clients]
        rest = 1 - shares.sum(axis=1, keepdims=True)
        parts = _moved(shares, rest, self.deviations[:, clients])
        return accumulate(self.server_rate * parts.sum(axis=1, keepdims=True), self.discounts)

    @property
    def discounts(self) -> Float64s:
        """How much of a sensitivity is left after each round; all of it where nobody trained."""
        return np.where(self.weights.sum(axis=1) > 0, self.discount, 1.0)


def removal_distance(share: float, deviation: float) -> float:
    """How far a round's weighted mean moves when a client that weighs `share` is taken out.

    >>> removal_distance(0.5, 2.0)
    2.0
    """
    return float(_moved(np.array(share), np.array(1 - share), np.array(deviation)))


def accumulate(increments: Float64s, discount: float | Float64s = 1.0) -> Float64s:
    """Psi(0) = 0, Psi(n + 1) = discount Psi(n) + increment, column by column; a discount for all rounds or
    one for each.

    >>> accumulate(np.array([[1.0], [1.0]]), 0.5).ravel().tolist()
    [0.0, 1.0, 1.5]
    """
    total = np.zeros((len(increments) + 1, *increments.shape[1:]))
    each = np.broadcast_to(discount, (len(increments),))
    if (each == 1).all():
        total[1:] = np.cumsum(increments, axis=0)
        return total
    for n, increment in enumerate(increments):
        total[n + 1] = each[n] * total[n] + increment
    return total


def longest_step(smoothness: float, convexity: float = 0.0, proximal: float = 0.0) -> float:
    """The largest step size at which a round of gradient steps pushes two models no further apart than
    :func:`contraction` says, whatever convex losses there are of such smoothness and convexity.

    Every step must shrink the distance to 1 - rate (c + mu) of it, and a step along the largest curvature
    overshoots to rate (L + mu) - 1; the former is the larger one up to 2 / (L + c + 2 mu). For one quadratic
    loss per client 2 / (L + mu) would do where nothing is discounted, but not where curvature changes from
    step to step.

    >>> longest_step(2.0), longest_step(2.0, 0.5), longest_step(2.0, 0.0, 1.0)
    (1.0, 0.8, 0.5)
    """
    return 2 / (smoothness + convexity + 2 * proximal)


def contraction(learning_rate: float, steps: int, convexity: float, proximal: float = 0.0) -> float:
    """How much of a distance is left after a round of gradient steps on losses that are so strongly convex,
    with steps of at most :func:`longest_step`; `proximal` is the weight mu of FedProx, whose pull towards the
    model of the round's start keeps a part: (gamma c + mu) / (c + mu), gamma = (1 - rate (c + mu))^steps.

    >>> contraction(0.1, 2, 0.5)
    0.9025
    >>> round(contraction(0.1, 10, 1.0, 1.0), 4)
    0.5537
    """
    if convexity < 0:
        raise ConfigError(f"the declared strong convexity must not be negative, but is {convexity:g}.")
    if learning_rate * (convexity + proximal) > 1:
        pull = f" and mu of {proximal:g}" if proximal else ""
        raise ConfigError(
            f"a learning rate of {learning_rate:g} is too long for a strong convexity of "
            f"{convexity:g}{pull}: their product must not exceed 1."
        )
    if convexity == 0:
        return 1.0
    fading: float = (1 - learning_rate * (convexity + proximal)) ** steps
    return (fading * convexity + proximal) / (convexity + proximal)


def _moved(shares: Float64s, rest: Float64s, deviations: Float64s) -> Float64s:
    """shares / rest * deviations; 0 for who was not there, infinite where nobody else was, or where the
    deviation is not a number."""
    unknown = (shares > 0) & ((rest <= 1e-12) | ~np.isfinite(deviations))
    safe = np.where((shares > 0) & ~unknown, deviations, 0.0)
    return np.where(unknown, np.inf, shares / np.where(rest > 1e-12, rest, 1.0) * safe)
