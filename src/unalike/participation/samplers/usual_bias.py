"""Bias of the usual draw: renormalized cohorts of clients with unequal importance.

Of m of n clients drawn uniformly, client i weighs p_i / (p_i + S), S the sum of the m - 1 others, so that on
average it counts

    E[omega_i] / p_i  =  m / n  E[1 / (p_i + S)]

times what it should. That falls with p_i: whoever counts least is favored most. So the two ends say it all,
and some thousand cohorts of the others are enough to know them to a per cent or so, however many clients
there are; `statistics` has ten digits, and takes its time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...core.random import generator
from ...typing import Event, Float64s
from ..base import Participation
from .uniform import Renormalized

COHORTS, CELLS = 2000, 500_000
"""Cohorts that are drawn, and numbers that are drawn for them, at most."""
MATTERS = 0.1
"""Who counts less than this part of the mean client is too small to speak of."""
WORTH_SAYING = 0.1


class UsualBias(NamedTuple):
    """The clients that the draw favors most and least, and how often their importance each counts."""

    favored: int
    gain: float
    slighted: int
    loss: float

    @property
    def worth_saying(self) -> bool:
        """Whether one of them counts a tenth more or less than it should."""
        return max(abs(self.gain - 1), abs(self.loss - 1)) > WORTH_SAYING


def usual_bias(importance: Float64s, per_round: int) -> UsualBias:
    """How the usual draw counts the least client that matters, and the greatest.

    >>> found = usual_bias(np.array([0.1, 0.2, 0.7]), per_round=1)
    >>> found.favored, round(found.gain, 2), found.slighted, round(found.loss, 2)
    (0, 3.33, 2, 0.48)
    """
    matter = np.flatnonzero(importance >= MATTERS * importance.mean())
    least, most = (int(matter[find(importance[matter])]) for find in (np.argmin, np.argmax))
    gain, loss = (_times_counted(importance, min(per_round, len(importance)), i) for i in (least, most))
    return UsualBias(least, gain, most, loss)


def _times_counted(importance: Float64s, m: int, client: int) -> float:
    """m / n E[1 / (p_i + S)]: a shuffle of the others is cut into as many cohorts as it holds."""
    others, n = np.delete(importance, client), len(importance)
    if m == 1:
        return float(1 / (n * importance[client]))
    each = len(others) // (m - 1)
    shuffles = max(min(-(-COHORTS // each), CELLS // n), 1)
    rng = generator(0, "usual bias", client)
    shuffled = rng.permuted(np.tile(others, (shuffles, 1)), axis=1)
    sums = shuffled[:, : each * (m - 1)].reshape(-1, m - 1).sum(axis=1)
    return float(m / n * np.mean(1 / (importance[client] + sums)))


def warn_of_bias(who: Participation, importance: Float64s, name: Callable[[int], str]) -> list[Event]:
    """Say once how biased the usual draw is, where that is worth it, and return it as an event."""
    if not isinstance(who, Renormalized) or who.per_round >= len(importance) or np.ptp(importance) == 0:
        return []
    found = usual_bias(importance, who.per_round)
    if not found.worth_saying:
        return []
    favored, slighted = name(found.favored), name(found.slighted)
    warnings.warn(
        f"drawing {who.per_round} clients a round and sharing the weight among them favors clients that "
        f"count little: on average client {favored} counts {found.gain:.2f} times its importance, and "
        f"client {slighted} {found.loss:.2f} times; sampling md, uniform or clustered-size counts everyone "
        "as it should.",
        stacklevel=3,
    )
    return [
        {
            "kind": "biased sampling",
            **{"favored": favored, "counts": round(found.gain, 3)},
            **{"slighted": slighted, "counts_only": round(found.loss, 3)},
            "remedy": "sampling md, uniform or clustered-size",
        }
    ]
