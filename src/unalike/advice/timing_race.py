"""Timing policies raced on quadratic losses: simulated time to a target accuracy.

Losses have curvatures up to a factor `conditioning` apart, and clients' optima differ by `unlike` times the
distance to go. With steps that shrink errors at some rate, and leave something because results are old, or
biased, the error falls as

    d error^2 / dt = -2 rate(step) (error^2 - left(step)^2),

where the step is at all times the best one that no curvature makes diverge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..errors import ConfigError
from ..theory.asynchrony.objective import Surrogate
from ..theory.asynchrony.quadratic import growth, settled_error, stable_limit
from ..timing import Timeline
from ..typing import Float64s, Int64s

MOST_LEFT = 5000
"""Errors that stay are computed for so many steps times clients, and interpolated."""
FINENESS, FINEST, CURVATURES, ERRORS = 40, 1e5, 24, 200
"""Steps at which rates are computed, how many times shorter than the limit the first is, and the numbers of
curvatures and of errors on the way."""
FASTEST, LARGEST = 1e6, 1e12
"""Rates and squared errors beyond these are as good as infinite."""


@dataclass(frozen=True, kw_only=True)
class RaceTarget:
    """What training is to reach, on which losses."""

    target: float = 0.01
    """The error to reach, as a share of the initial one."""
    conditioning: float = 10.0
    """The largest curvature over the smallest, as far as local work does not even them out."""
    unlike: float = 0.1
    """How far clients' optima are apart, as a share of the initial error."""

    def __post_init__(self) -> None:
        if not 0 < self.target < 1:
            raise ConfigError(f"the target must be between 0 and 1, but is {self.target}.")
        if not (1 <= self.conditioning < math.inf and 0 <= self.unlike < math.inf):
            raise ConfigError(
                "the conditioning must be at least 1 and clients at least 0 apart, but these are "
                f"{self.conditioning} and {self.unlike}."
            )

    @property
    def curvatures(self) -> Float64s:
        """Curvatures from the smallest to the largest, which is one."""
        return np.geomspace(1 / self.conditioning, 1.0, CURVATURES)


@dataclass(frozen=True)
class Curve:
    """How fast errors shrink, and how large they stay, for steps up to the largest stable one."""

    limit: float
    steps: Float64s
    pace: Float64s
    """The rate per unit of time over the step, which is constant for short steps."""
    left: Float64s
    """The squared error that stays, for optima of variance one."""

    def rate(self, steps: Float64s) -> Float64s:
        """The rate at which errors shrink per unit of time."""
        return steps * np.interp(np.log(steps), np.log(self.steps), self.pace)

    def error(self, steps: Float64s) -> Float64s:
        """The squared error that stays."""
        return np.interp(np.log(steps), np.log(self.steps), self.left)

    def race(self, goal: RaceTarget) -> tuple[float, float]:
        """The best step in the beginning, and the time to the target if steps get shorter as they should."""
        steps = self.steps[:, None] * goal.curvatures
        slowest = self.rate(steps).min(axis=1)
        left = goal.unlike**2 * self.error(steps).max(axis=1)
        errors = np.geomspace(1.0, goal.target, ERRORS)
        rates = slowest * (1 - left / errors[:, None] ** 2)
        best = rates.max(axis=1)
        if best.min() <= 0:
            return float(self.steps[rates[0].argmax()]), math.inf
        return float(self.steps[rates[0].argmax()]), float(np.trapezoid(1 / best, -np.log(errors)))


def curve_of(schedule: Timeline, period: int | None, minimized: Surrogate) -> Curve:
    """The curve of a schedule that minimizes this, and repeats itself after `period` steps, if known."""
    limit = stable_limit(schedule, period)
    short = np.geomspace(1 / FINEST, 0.1, FINENESS // 2, endpoint=False)
    steps = limit * np.concatenate([short, np.linspace(0.1, 1.0, FINENESS, endpoint=False)])
    pace = np.clip(-growth(schedule, steps, period), -FASTEST, FASTEST) / steps
    few = _spread_over(len(steps), max(16, MOST_LEFT // schedule.clients))
    left = settled_error(schedule, minimized.importance, steps[few], minimized.expected)
    logs = np.interp(np.log(steps), np.log(steps[few]), np.log(np.clip(left, 1e-300, LARGEST)))
    return Curve(limit, steps, pace, np.exp(logs))


def _spread_over(many: int, few: int) -> Int64s:
    """So many places out of many, evenly spaced, with the first and the last."""
    return np.unique(np.linspace(0, many - 1, min(few, many)).round().astype(np.int64))
