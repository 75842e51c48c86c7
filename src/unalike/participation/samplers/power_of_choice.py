"""Power-of-choice sampling: the clients with the highest loss are chosen (Cho, Wang and Joshi, "Towards
Understanding Biased Client Selection in Federated Learning", 2022).

Among some candidates, those with the highest loss train. No weights can make that unbiased round by round,
but a window of rounds can be: after rounds by loss, in which client i was picked h_i times, repair rounds
have expected weights (W p_i - h_i / m) / W2, so that over the W rounds of the window every client weighed p_i
on average.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...errors import ConfigError
from ...typing import Array, Float64s
from ..base import Cohort, RoundContext, check_per_round
from .base import Sampler, sampler_registry
from .multinomial import Multinomial


@sampler_registry.add("power-of-choice")
@dataclass
class PowerOfChoice(Sampler):
    """The candidates with the highest loss; biased, but `power-of-choice:20,6` repairs it every 6 rounds."""

    candidates: int | None = None
    """Drawn in proportion to importance and asked for their loss; twice `per_round` when not given."""
    window: int = 1
    """Rounds after which every client has weighed as it should on average; 1 repairs nothing."""
    per_round: int = field(kw_only=True)
    asks = ("loss",)

    def cohort_size(self, clients: int) -> int:
        return min(self.per_round, clients)

    def __post_init__(self) -> None:
        for name in ("candidates", "window"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, int):
                raise ConfigError(f"{name} must be a whole number, but is {value!r}.")
        if self.window < 1:
            raise ConfigError(f"the window must be at least 1 round, but is {self.window}.")
        if self.candidates is not None and self.candidates < self.per_round:
            raise ConfigError(
                f"{self.candidates} candidates are too few to choose {self.per_round} clients from."
            )
        self._picks = np.zeros(0)
        self._place = 0

    def check(self, clients: int, rounds: int) -> None:
        check_per_round(self.per_round, clients)
        if self.candidates is not None and self.candidates > clients:
            raise ConfigError(f"{self.candidates} candidates cannot be drawn from {clients} clients.")
        self._picks, self._place = np.zeros(0), 0

    def cohort(self, turn: RoundContext) -> Cohort:
        by_loss = self.window if self.window == 1 else self.window // 2
        if self._place == 0:
            self._picks = np.zeros(0)
        self._picks = np.pad(self._picks, (0, max(int(turn.clients.max()) + 1 - len(self._picks), 0)))
        place, self._place = self._place, self._place + 1
        if place < by_loss:
            cohort = self._by_loss(turn)
            self._picks[turn.clients[cohort.clients]] += self.per_round * cohort.weights
            end = self.window
        else:
            end = feasible_window(turn.importance, self._picks[turn.clients], self.per_round, self.window)
            repair = repair_weights(
                turn.importance, self._picks[turn.clients], self.per_round, end, end - by_loss
            )
            cohort = Multinomial(per_round=self.per_round).draw(repair, turn.rng)
        if self._place >= end:
            self._place = 0
        return cohort

    def _by_loss(self, turn: RoundContext) -> Cohort:
        possible = int((turn.importance > 0).sum())
        count = min(self.candidates or 2 * self.per_round, possible)
        drawn = turn.rng.choice(len(turn.importance), count, replace=False, p=turn.importance)
        drawn = np.sort(drawn).astype(np.int64)
        losses = turn.ask("loss", turn.clients[drawn])
        best = np.sort(drawn[np.argsort(-losses, kind="stable")[: self.per_round]])
        return Cohort(best, np.full(len(best), 1 / len(best)))

    def state(self) -> dict[str, Array]:
        return {"picks": self._picks.copy(), "place": np.array(self._place)}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._picks, self._place = np.array(state["picks"]), int(state["place"])


def feasible_window(importance: Float64s, picks: Float64s, per_round: int, window: int) -> int:
    """The shortest window, at least as long as asked for, in which no client was picked too often already.

    >>> feasible_window(np.array([0.5, 0.5]), np.array([3, 0]), 1, 4)
    6
    """
    picked = picks > 0
    if not picked.any():
        return window
    needed = (picks[picked] / (per_round * np.maximum(importance[picked], 1e-300))).max()
    return max(window, int(np.ceil(needed - 1e-9)))


def repair_weights(
    importance: Float64s, picks: Float64s, per_round: int, window: int, rounds: int
) -> Float64s:
    """What clients must weigh in each of the window's repair rounds; sums to one.

    >>> repair_weights(np.array([0.5, 0.5]), np.array([1, 0]), 1, 2, 1)
    array([0., 1.])
    """
    weights = np.maximum((window * importance - picks / per_round) / rounds, 0.0)
    return weights / weights.sum()
