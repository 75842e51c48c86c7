"""How much privacy has been spent?  (Privacy accounting.)

Every release charges each client that took part: a client whose weight is a share s of the largest adds
(s / z)^2, where z is the noise multiplier. Gaussian releases add up in exactly these charges, so the charges
are all that must be remembered, and a client that was not drawn pays nothing. Flower's accountant turns the
largest charge into an epsilon; it needs the package dp-accounting.

With a budget, a release that would bring anybody's epsilon above it is not afforded: it is asked for before
the release, so nothing is ever spent that was not there.

Who is drawn follows from the seed, which all nodes are told, so that being drawn by chance is not counted as
protection.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from ..core.extras import installed_by
from ..errors import RunError
from ..typing import ClientIds, Float64s

UNCOUNTED = f"the spent privacy is not counted; install Flower's accountant with {installed_by('privacy')}."

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
        if epsilon is None or epsilon > self.budget * (1 + ROUNDING):
            return False
        self._promised = after
        return True

    def epsilon(self) -> float | None:
        """What the most charged client has spent at `delta`; None where nothing can count it."""
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


def spent_budget(ledger: Ledger) -> str:
    """Why training ends, in words for the record."""
    return f"one more release would bring a client above epsilon {ledger.budget:g} at delta {ledger.delta:g}."


def charge_epsilon(charge: float, delta: float) -> float | None:
    """The epsilon of Gaussian releases whose charges add up to that; None where nothing can count it.

    >>> charge_epsilon(0.0, 1e-5)
    0.0
    """
    return gaussian_epsilon(charge**-0.5, delta) if charge else 0.0


def gaussian_epsilon(noise_multiplier: float, delta: float) -> float | None:
    """The epsilon of one Gaussian release by Flower's accountant; None if that is not installed."""
    try:
        from flwr.serverapp import (
            GaussianPrivacyEvent,
            NeighboringRelation,
            PrivacyConfig,
            RdpAccountant,
            SamplingMethod,
        )

        config = PrivacyConfig(
            delta, 1, NeighboringRelation.ADD_OR_REMOVE_ONE, SamplingMethod.NO_AMPLIFICATION
        )
        accountant = RdpAccountant(config)
    except ImportError:
        return None
    accountant.compose(GaussianPrivacyEvent(noise_multiplier, 1, 1))
    return accountant.get_epsilon(delta)
