"""Privacy accounting: how much of the budget has been spent?

Every release charges each client that took part: a client whose weight is a share s of the largest adds
(s / z)^2, where z is the noise multiplier. Gaussian releases add up in exactly these charges: together they
are one Gaussian release with mu^2 = the sum of charges, whose epsilon is exact (Balle and Wang, "Improving
the Gaussian Mechanism for Differential Privacy", 2018):

    delta(epsilon) = Phi(mu / 2 - epsilon / mu) - exp(epsilon) Phi(-mu / 2 - epsilon / mu)

So the charges are all that must be remembered, and a client that was not drawn pays nothing.

With a budget, a release that would bring anybody's epsilon above it is not afforded: it is asked for before
the release, so nothing is ever spent that was not there.

Who is drawn follows from the seed, which all nodes are told, so that being drawn by chance is not counted as
protection.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import scipy

from ..errors import RunError
from ..typing import ClientIds, Float64s

ROUNDING = 1e-9
"""What sums of charges may be wrong by, in parts."""


class Ledger:
    """What the releases so far cost every client; `save` is handed the words to keep after each.

    >>> ledger = Ledger(3)
    >>> ledger.charge(np.array([0, 2]), np.array([1.0, 0.5]))
    >>> ledger.charges.tolist(), ledger.releases
    ([1.0, 0.0, 0.25], 1)
    """

    def __init__(
        self,
        clients: int,
        delta: float = 1e-5,
        save: Callable[[str], None] = lambda words: None,
        budget: float | None = None,
    ) -> None:
        self.charges, self.releases = np.zeros(clients), 0
        self.delta, self.budget, self._save = delta, budget, save
        self._promised = np.zeros(clients)

    def charge(self, clients: ClientIds, inverses: Float64s) -> None:
        """A release: `inverses` are one over the noise multiplier that each of the clients got."""
        self.charges[clients] += np.square(inverses)
        self.releases += 1
        self._save(self.write())

    def affords(self, clients: ClientIds, inverses: Float64s) -> bool:
        """Whether a release may be made within the budget; what is afforded counts as made."""
        if self.budget is None:
            return True
        after = np.maximum(self._promised, self.charges)
        after[clients] += np.square(inverses)
        epsilon = charge_epsilon(float(after.max(initial=0.0)), self.delta)
        if epsilon > self.budget * (1 + ROUNDING):
            return False
        self._promised = after
        return True

    def epsilon(self) -> float:
        """What the most charged client has spent at `delta`."""
        return charge_epsilon(float(self.charges.max(initial=0.0)), self.delta)

    def write(self) -> str:
        """As words, for the run's record."""
        return json.dumps({"releases": self.releases, "charges": self.charges.tolist()})

    def restore(self, words: str) -> None:
        """Go on from what :meth:`write` wrote: what was released before a crash was released."""
        known = json.loads(words)
        if len(known["charges"]) != len(self.charges):
            raise RunError(
                f"the run's privacy was counted for {len(known['charges'])} clients, not {len(self.charges)}."
            )
        self.charges, self.releases = np.array(known["charges"], np.float64), int(known["releases"])


def budget_message(ledger: Ledger) -> str:
    """Why training ends, in words for the record."""
    return f"one more release would bring a client above epsilon {ledger.budget:g} at delta {ledger.delta:g}."


def charge_epsilon(charge: float, delta: float) -> float:
    """The epsilon of Gaussian releases whose charges add up to that.

    >>> charge_epsilon(0.0, 1e-5)
    0.0
    """
    return gaussian_epsilon(charge**-0.5, delta) if charge else 0.0


def gaussian_epsilon(noise_multiplier: float, delta: float) -> float:
    """The epsilon of one Gaussian release whose noise is that many times the sensitivity: exact, and rounded
    up.

    >>> round(gaussian_epsilon(1.0, 1e-5), 3), gaussian_epsilon(1e6, 1e-5)
    (4.377, 0.0)
    """
    if noise_multiplier == 0:
        return math.inf
    mu = 1 / noise_multiplier
    if gaussian_delta(0.0, mu) <= delta:
        return 0.0
    low, high = 0.0, mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta)) + 1e-12
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if gaussian_delta(middle, mu) > delta else (low, middle)
    return high


def gaussian_delta(epsilon: float, mu: float) -> float:
    """The delta of a Gaussian release, whose sensitivity is mu times its noise, at an epsilon.

    >>> round(gaussian_delta(1.0, 1.0), 4)
    0.1269
    """
    near = float(scipy.special.log_ndtr(mu / 2 - epsilon / mu))
    far = epsilon + float(scipy.special.log_ndtr(-mu / 2 - epsilon / mu))
    return 0.0 if far >= near else math.exp(near) * -math.expm1(far - near)
