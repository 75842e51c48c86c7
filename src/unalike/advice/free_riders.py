"""Advice on free-riders: their effect on this training, and whether they would be detected.

Fraboni, Vidal and Lorenzi, "Free-rider Attacks on Model Aggregation in Federated Learning" (2021), on
quadratic losses: k free-riders that claim M_k rows each, among honest clients with M_J, make the same
progress take ln a / ln H times as many rounds, where a is what honest clients leave of the distance to the
optimum in a round and

    H = (M_J a + k M_k) / (M_J + k M_k).

They do not move the optimum. What they send betrays them only to who looks at single uploads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..data import Federation
from ..errors import ConfigError
from ..theory.free_riders.contraction import contraction
from ..theory.free_riders.local_process import disguise_amplitude, local_process
from ..theory.free_riders.variance import variance
from ..trust.behaviors.declared_size import declared_size
from ..typing import Document, Float64s, Int64s

FROZEN = 10.0
"""From this slow-down on, training stands nearly still."""
WINDOW = 5
"""Rounds over which a monitor averages before it decides."""


@dataclass(frozen=True)
class LocalDescent:
    """The local work of a round, and the losses it is done on: all clients have the same curvature."""

    epochs: float | None = None
    steps: float | None = None
    """Mini-batches instead of epochs."""
    batch_size: int = 16
    learning_rate: float = 0.1
    curvature: float = 1.0
    sigma: float = 1.0
    """Standard deviation of a single row's gradient, per coordinate."""
    mu: float = 0.0
    """FedProx's weight."""

    def __post_init__(self) -> None:
        if self.epochs is not None and self.steps is not None:
            raise ConfigError("give either epochs or steps of local work, not both.")
        if self.batch_size < 0:
            raise ConfigError(f"batch_size must be positive (or 0 for all rows), but is {self.batch_size}.")

    def steps_of(self, sizes: ArrayLike) -> Float64s:
        """Mini-batches of clients with so many rows."""
        rows = np.asarray(sizes, np.float64)
        if self.steps is not None:
            return np.full(rows.shape, float(self.steps))
        passes = 1.0 if self.epochs is None else self.epochs
        return passes * (np.ceil(rows / self.batch_size) if self.batch_size else np.ones(rows.shape))


@dataclass(frozen=True)
class FreeRiderReport:
    """What so many free-riders do."""

    free_riders: int
    share: float
    """What they weigh."""
    contraction: float
    """H: what a round leaves of the distance to the optimum."""
    slow_down: float
    """Rounds for every round without them."""
    variance: float
    """Of the difference between trainings with and without plain ones, per coordinate, after long."""
    printed_variance: float
    """The published formula, which is too large with free-riders."""
    disguised_variance: float
    """The same with free-riders whose noise never fades and is as large as honest clients'."""


@dataclass(frozen=True)
class FreeRiderAdvice:
    """Numbers of free-riders side by side, and what would be seen of them."""

    clients: int
    rows: int
    claimed: float
    """What each free-rider claims to have."""
    fair_contraction: float
    amplitude: float
    """The noise that makes a free-rider's upload spread like an honest one."""
    parameters: int | None
    reports: tuple[FreeRiderReport, ...]
    doubling: int
    """Free-riders that double the number of rounds."""
    signs: tuple[str, ...]
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]

    def as_dict(self) -> Document:
        """Everything, ready for JSON."""
        return {**asdict(self), "reports": [asdict(report) for report in self.reports]}


def advise_free_riders(
    clients: Federation | ArrayLike,
    work: LocalDescent | None = None,
    numbers: Sequence[int] | None = None,
    declared: str = "mean",
    parameters: int | None = None,
) -> FreeRiderAdvice:
    """What free-riders that join these honest clients (a federation, or sizes) would do.

    `numbers` are how many of them to look at: one, half of everyone and nine tenths when not given.
    `parameters` is the size of the model, which says how small a chance cosine is.

    >>> advice = advise_free_riders([600] * 5, LocalDescent(steps=7, learning_rate=0.1))
    >>> [(report.free_riders, round(report.slow_down, 2)) for report in advice.reports]
    [(1, 1.29), (5, 2.41), (45, 13.55)]
    """
    sizes: Int64s = clients.train.sizes if isinstance(clients, Federation) else np.asarray(clients, np.int64)
    sizes = sizes[sizes > 0]
    work = LocalDescent() if work is None else work
    chosen = (1, len(sizes), 9 * len(sizes)) if numbers is None else tuple(numbers)
    if not len(sizes) or any(count < 0 for count in chosen):
        raise ConfigError("advice on free-riders needs honest clients with rows, and numbers from 0 on.")
    claimed = declared_size(sizes, declared)
    batch = work.batch_size or float(sizes.mean())
    shared = (work.sigma, batch, work.mu)
    made = local_process(work.curvature, work.learning_rate, work.steps_of(sizes), *shared)
    hidden = disguise_amplitude(work.curvature, work.learning_rate, work.steps_of(claimed), *shared)
    given = (sizes.astype(np.float64), made.keep, made.noise)
    reports = tuple(_report(*given, claimed, float(hidden), count) for count in sorted(set(chosen)))
    fair = contraction(sizes, made.keep).fair
    return FreeRiderAdvice(
        len(sizes),
        int(sizes.sum()),
        claimed,
        fair,
        float(hidden),
        parameters,
        reports,
        _doubling(fair, float(sizes.sum()), claimed),
        _signs(parameters),
        _reasons(sizes, claimed, reports),
        _warnings(reports, declared),
    )


def _report(
    sizes: Float64s, keep: Float64s, noise: Float64s, claimed: float, amplitude: float, count: int
) -> FreeRiderReport:
    claims = np.full(count, claimed)
    left = contraction(sizes, keep, float(claims.sum()))
    plain = variance(sizes, keep, noise, claims)
    return FreeRiderReport(
        count,
        left.share,
        left.ridden,
        left.slow_down,
        plain.total,
        variance(sizes, keep, noise, claims, form="printed").total,
        variance(sizes, keep, noise, claims, amplitude).total,
    )


def _doubling(fair: float, honest: float, claimed: float) -> int:
    """The fewest free-riders with which everything takes twice as many rounds: H >= sqrt(a)."""
    if 1 - fair < 1e-12:
        return math.ceil(honest / claimed)
    share = 1 - (1 - math.sqrt(fair)) / (1 - fair)
    return math.ceil(share / (1 - share) * honest / claimed - 1e-9)


def _signs(parameters: int | None) -> tuple[str, ...]:
    chance = "" if parameters is None else f" (the mean of {WINDOW} rounds within {_chance(parameters):.2g})"
    return (
        "plain: the upload is the model that was sent, in the first round already.",
        f"disguised by noise: its changes have no direction in common from round to round{chance}, are "
        "Gaussian over coordinates and fade by a power of the round, while honest ones repeat themselves.",
        "replay: its change is the last change of the model, and does not depend on what it is asked.",
    )


def _chance(parameters: int) -> float:
    """Four deviations of the mean cosine of independent Gaussian vectors."""
    return 4 / math.sqrt(parameters * WINDOW)


def _reasons(sizes: Int64s, claimed: float, reports: Sequence[FreeRiderReport]) -> tuple[str, ...]:
    limit = [1 + report.free_riders * claimed / float(sizes.sum()) for report in reports]
    least, most = min(limit), max(limit)
    between = f"{least:.3g}" if least == most else f"{least:.3g} to {most:.3g}"
    return (
        "Free-riders do not change where training ends, only how long it takes.",
        f"With little local work in a round the slow-down is {between} (all rows over honest rows), whatever "
        "the losses are; the table has it for quadratic ones.",
    )


def _warnings(reports: Sequence[FreeRiderReport], declared: str) -> tuple[str, ...]:
    slow = [report.free_riders for report in reports if report.slow_down >= FROZEN]
    found = []
    if slow:
        found.append(
            f"With {min(slow):,} free-riders training stands nearly still: bound what clients weigh."
        )
    if declared in ("max", "10x"):
        found.append(
            "Rows that clients claim cannot be checked: bound weights by a multiple of their median."
        )
    return tuple(found)
