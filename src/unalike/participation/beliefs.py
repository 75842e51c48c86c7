"""Availability estimates of the server: mean and correlation of each client.

It sees who is there, counts, and starts from a Beta prior (Rodio, Faticanti, Marfoq, Neglia and Leonardi,
"Federated Learning under Heterogeneous and Correlated Client Availability", 2023). With a and b rounds
imagined there and away,

    active = (rounds there + a) / (rounds + a + b),      correlation = s1 + s0 - 1,

where s1 and s0 are the posterior means of staying there and of staying away. They are counted over the rounds
spent in that state, not over all rounds. Where availability changes with time, older rounds can be forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ConfigError
from ..typing import Array, Bools, Float64s


class Beliefs:
    """What is known of each client's availability."""

    @property
    def active(self) -> Float64s:
        """How often each client is there."""
        raise NotImplementedError(f"{type(self).__name__} must implement active().")

    @property
    def correlation(self) -> Float64s:
        """The correlation of one round with the next, for each client."""
        raise NotImplementedError(f"{type(self).__name__} must implement correlation().")

    def see(self, present: Bools) -> None:
        """Learn who is there in one more round (nothing, by default)."""

    def state(self) -> dict[str, Array]:
        """What must be saved so that a resumed run believes the same."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """The inverse of :meth:`state`."""


class Known(Beliefs):
    """The truth, given beforehand.

    >>> Known([0.9, 0.1], 0.0).correlation
    array([0., 0.])
    """

    def __init__(self, active: ArrayLike, correlation: ArrayLike) -> None:
        given, correlated = np.asarray(active, np.float64), np.asarray(correlation, np.float64)
        if given.ndim != 1 or correlated.shape not in ((), given.shape):
            raise ConfigError("active and correlation need one number per client.")
        self._active, self._correlation = given, np.broadcast_to(correlated, given.shape)

    @property
    def active(self) -> Float64s:
        return self._active

    @property
    def correlation(self) -> Float64s:
        return self._correlation


class Estimated(Beliefs):
    """Counted online, from a prior of `prior` rounds imagined there and away.

    With `forgetting` below one, a round that is t rounds old counts forgetting^t.

    >>> beliefs = Estimated(clients=2)
    >>> for there in [[True, False], [True, False], [True, True]]:
    ...     beliefs.see(np.array(there))
    >>> beliefs.active
    array([0.8, 0.4])
    """

    def __init__(
        self, clients: int, prior: tuple[float, float] = (1.0, 1.0), forgetting: float = 1.0
    ) -> None:
        if not all(0 < rounds < np.inf for rounds in prior):
            raise ConfigError(f"both numbers of the prior must be positive, but they are {prior}.")
        if not 0 < forgetting <= 1:
            raise ConfigError(f"forgetting must be above 0 and at most 1, but is {forgetting}.")
        self.prior, self.forgetting = prior, forgetting
        self._there, self._was_there, self._stayed_there, self._stayed_away = np.zeros((4, clients))
        self._seen = self._moves = 0.0  # rounds and pairs of rounds, as far as they are remembered
        self._ever, self._rounds = np.zeros(clients), 0
        self._last = np.zeros(clients, np.bool_)

    def see(self, present: Bools) -> None:
        if present.shape != self._last.shape:
            raise ConfigError(f"{len(self._last)} clients are watched, but {present.size} were seen.")
        if self._rounds:
            self._move(present)
        self._there = self.forgetting * self._there + present
        self._seen = self.forgetting * self._seen + 1
        self._ever, self._rounds = self._ever + present, self._rounds + 1
        self._last = present.copy()

    def _move(self, present: Bools) -> None:
        """Count from where each client came, and whether it stayed."""
        kept = self.forgetting
        self._was_there = kept * self._was_there + self._last
        self._stayed_there = kept * self._stayed_there + (self._last & present)
        self._stayed_away = kept * self._stayed_away + ~(self._last | present)
        self._moves = kept * self._moves + 1

    @property
    def active(self) -> Float64s:
        there, away = self.prior
        return (self._there + there) / (self._seen + there + away)

    @property
    def correlation(self) -> Float64s:
        # From either state the prior expects the same next state: no correlation, until it is seen.
        there, away = self.prior
        stay_there = (self._stayed_there + there) / (self._was_there + there + away)
        stay_away = (self._stayed_away + away) / (self._moves - self._was_there + there + away)
        return stay_there + stay_away - 1

    @property
    def drift(self) -> Float64s:
        """How far recent availability is from its average over all rounds (zero if nothing is forgotten)."""
        there, away = self.prior
        return self.active - (self._ever + there) / (self._rounds + there + away)

    def state(self) -> dict[str, Array]:
        counts = (self._there, self._was_there, self._stayed_there, self._stayed_away, self._ever)
        return {
            "counts": np.stack(counts),
            "rounds": np.array([self._seen, self._moves, self._rounds]),
            "last": self._last.copy(),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        counts = state["counts"].astype(np.float64)
        if counts.shape[1:] != self._last.shape:
            raise ConfigError(
                f"the saved beliefs are about {counts.shape[-1]} clients, but there are {len(self._last)}."
            )
        self._there, self._was_there, self._stayed_there, self._stayed_away, self._ever = counts
        self._seen, self._moves, rounds = state["rounds"].tolist()
        self._rounds, self._last = int(rounds), state["last"].astype(np.bool_)


def hitting_time(active: ArrayLike, correlation: ArrayLike) -> float:
    """How long to observe: the mean time until the slowest absent client is there, max 1 / ((1 - lambda) pi).

    >>> round(hitting_time([0.9, 0.1], [0.0, 0.9]), 6)
    100.0
    """
    arrive = (1 - np.asarray(correlation, np.float64)) * np.asarray(active, np.float64)
    with np.errstate(divide="ignore"):
        return float(np.max(1 / arrive))
