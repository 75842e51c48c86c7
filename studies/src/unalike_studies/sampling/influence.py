"""Influence of local work and cohort size on clustered sampling: two figures of the appendix.

Fraboni, Vidal, Kameni and Lorenzi, "Clustered Sampling: Low-Variance and Improved Representativity for
Clients Selection in Federated Learning" (2021): on a hundred clients of CIFAR-10 with unequal sizes, clusters
gain more over multinomial draws the more steps clients take in a round (10, 100, 500) and the fewer of them
are drawn (5, 10, 20). Here the gain is the part of the mean loss over a run that clusters save; clients are
those of 8x8 digits with the same proportions of sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from unalike.algorithms import LocalWork
from unalike.typing import Float64s

from ..study import Claim, at_most, in_order
from .data import Problem, learn, unbalanced_problem

SCHEMES = ("md", "clustered-size", "clustered-similarity")
ALPHA = 0.01
"""Of the Dirichlet law of labels, as published."""
USUAL_STEPS, USUAL_DRAWN = 100, 10
RATES = {10: 0.1}
"""Learning rates by local steps, as published; 0.05 otherwise."""


@dataclass(frozen=True)
class Effort:
    """How large the comparison is."""

    seeds: int
    rounds: int
    steps: tuple[int, ...]
    drawn: tuple[int, ...]


FULL = Effort(4, 50, (10, 100, 500), (5, 10, 20))
QUICK = Effort(1, 6, (10, 50, 100), (5, 10, 20))


def influence_claims(quick: bool) -> Iterator[Claim]:
    """CS-18 and CS-19."""
    effort = QUICK if quick else FULL
    work = [(steps, USUAL_DRAWN) for steps in effort.steps]
    drawn = [(USUAL_STEPS, clients) for clients in sorted(effort.drawn, reverse=True)]
    saved = {setting: gains(*setting, effort) for setting in dict.fromkeys([*work, *drawn])}
    more, fewer = _list(effort.steps), _list(clients for _, clients in drawn)
    for place, name in enumerate(SCHEMES[1:]):
        of = {setting: found[place] for setting, found in saved.items()}
        words = f"gain of {name} over md in percent, with {more} local steps"
        yield _growing("CS-18", words, [of[setting] for setting in work], effort)
        words = f"gain of {name} over md in percent, with {fewer} clients a round"
        yield _growing("CS-19", words, [of[setting] for setting in drawn], effort)
        least = min(float(found.mean()) for found in of.values())
        words = f"mean loss of {name} over md's, at worst in these settings"
        yield at_most("CS-19", words, [1 - least], 1.0, hard=False, note=_note(effort))


def _growing(id: str, words: str, found: list[Float64s], effort: Effort) -> Claim:
    errors = ", ".join(f"{100 * one.std(ddof=1) / np.sqrt(len(one)):.2f}" for one in found if len(one) > 1)
    note = f"standard errors {errors}; {_note(effort)}" if errors else _note(effort)
    return in_order(id, words, [100 * float(one.mean()) for one in found], hard=False, note=note)


def _note(effort: Effort) -> str:
    """What was scaled down."""
    return (
        f"8x8 digits and an MLP for CIFAR-10 and a CNN, 1/30 of the rows, {effort.rounds} rounds of 500 to "
        f"2,000, Dirichlet({ALPHA:g}) as published, seeds: {effort.seeds}"
    )


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def gains(steps: int, drawn: int, effort: Effort) -> Float64s:
    """Which part of md's mean loss each of both clusterings saves, seed by seed."""
    problems = [problem(steps, seed, effort) for seed in range(effort.seeds)]
    area = np.array([[learn(one, name, drawn, s).area for s, one in enumerate(problems)] for name in SCHEMES])
    return 1 - area[1:] / area[0]


def problem(steps: int, seed: int, effort: Effort) -> Problem:
    """Clients of unequal sizes that take so many steps in a round."""
    return replace(
        unbalanced_problem(ALPHA, seed, quick=True),
        work=LocalWork(steps=steps, batch_size=50),
        learning_rate=RATES.get(steps, 0.05),
        rounds=effort.rounds,
    )
