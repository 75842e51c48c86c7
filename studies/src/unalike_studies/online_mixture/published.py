"""Long studies of FEM-OMD: CIFAR-10 (Figure 4.10, right).

Marfoq's doctoral thesis (2023), section 4.4.5.2: ten clients receive five images of four groups of classes in
each of 1,000 steps. Convolutions are replaced by features that need no training, below two fully connected
layers that are learned; rates are chosen on a seed that is used for nothing else. The rival of the regret is
one model that saw all images, on the very test images of every step (4.47). There are twenty of these for
each client and step, where one was published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np

from unalike.algorithms import Algorithm
from unalike.theory.mixtures.regret import regret_curve, regret_slope
from unalike.typing import Float64s

from ..study import Claim, Effort, at_published_effort, average
from ..trainings import describe_training
from .images import GRID, TUNING_SEED, Pictures, cifar10, picture_accuracies, pooled_hits, rival_accuracies
from .labels import mixture_player, single_player

RUNS, STEPS = 3, 1000
FIGURE = "section 4.4.5.2, Figure 4.10 right"
LINEAR = 0.9
"""From this slope on a regret is called linear here, as in the games with Gaussian components."""


@at_published_effort("online-mixture", "M16")
def cifar10_claims(effort: Effort) -> Iterator[Claim]:
    """Neither method has a sub-linear regret on CIFAR-10, where its file is there."""
    steps, length = effort.length_of(STEPS, "steps")
    lesson = cifar10(steps)
    if lesson is None:
        return
    runs, few = effort.runs_of(RUNS)
    few = "" if runs == RUNS else f", {few.split(' where')[0]}"
    effort.trainings.expect(2 * (len(GRID) + runs))
    decides = {**describe_training(lesson.federation, lesson.task), "steps": steps, "study": "M16"}
    hits = cache(lambda: pooled_hits(lesson))
    curves: dict[str, list[Float64s]] = {}
    for name, player in (("FEM-OMD", partial(mixture_player, "last")), ("FedOMD", single_player)):
        rate = _rate(effort, lesson, decides, name, player)
        for seed in range(runs):
            key = {**decides, "method": name, "rate": rate, "seed": seed}
            made = partial(_regret, lesson, player(rate), hits, seed)
            curves.setdefault(name, []).append(effort.trainings.numbers(key, made))
        found = curves[name]
        slopes = [regret_slope(curve) for curve in found]
        note = (
            f"rate {rate:g}, regret {np.mean([c[-1] for c in found]):.1f}, features of patches for "
            f"convolutions, {length}{few}"
        )
        yield average(
            "M16",
            f"CIFAR-10: slope of {name}'s regret of accuracy",
            slopes,
            LINEAR,
            published="not sub-linear",
            place=FIGURE,
            hard=False,
            note=note,
        )


def _rate(
    effort: Effort,
    lesson: Pictures,
    decides: dict[str, object],
    name: str,
    player: Callable[[float], Algorithm],
) -> float:
    """The rate of the largest mean accuracy on a seed that is used for nothing else."""
    key = {**decides, "method": name, "seed": TUNING_SEED}
    marks = {
        rate: effort.trainings.numbers({**key, "rate": rate}, partial(_mark, lesson, player(rate)))[0]
        for rate in GRID
    }
    return max(marks, key=lambda rate: marks[rate])


def _mark(lesson: Pictures, algorithm: Algorithm) -> Float64s:
    return np.array([picture_accuracies(lesson, algorithm, TUNING_SEED)[0].mean()])


def _regret(lesson: Pictures, algorithm: Algorithm, hits: Callable[[], Float64s], seed: int) -> Float64s:
    """R'_1, R'_2, ..., averaged over clients."""
    played = picture_accuracies(lesson, algorithm, seed)[0]
    return regret_curve(1 - played, 1 - rival_accuracies(lesson, hits(), seed))
