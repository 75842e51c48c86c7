"""Claims on the audit's intervals and bounds where the truth is known; no training.

Randomized response tells a bit rightly with probability e^eps / (1 + e^eps), and is exactly eps-private: a
lower bound on epsilon must stay below eps in all but one draw of twenty, and come near it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unalike.core.random import generator
from unalike.privacy.audit.epsilon import epsilon_lower_bound
from unalike.typing import Bools, Float64s

from ..study import Claim, at_least, at_most

EPSILONS = (0.0, 1.0, 3.0)
ROWS = 4000


def theory_claims(quick: bool) -> Iterator[Claim]:
    """E1 and E2."""
    yield from bound_claims(quick)


def bound_claims(quick: bool) -> Iterator[Claim]:
    """The bound on epsilon, where epsilon is known."""
    draws = 40 if quick else 200
    for epsilon in EPSILONS:
        found = [_bound(epsilon, seed) for seed in range(draws)]
        above = float(np.mean(np.array(found) > epsilon))
        # Three deviations of a share of one in twenty.
        limit = round(0.05 + 3 * float(np.sqrt(0.05 * 0.95 / draws)), 3)
        words = f"share of {draws} draws whose bound is above epsilon = {epsilon:g} (randomized response)"
        how = "1 in 20, and three deviations of that share"
        yield at_most("E1", words, [above], limit, derivation=how)
        if epsilon:
            words = f"median bound over epsilon = {epsilon:g}, {ROWS:,} rows"
            yield at_least("E2", words, [float(np.median(found)) / epsilon], 0.7)


def randomized_response(epsilon: float, seed: int) -> tuple[Float64s, Bools]:
    """Scores that tell membership as rightly as epsilon allows, and who is a member."""
    draws = generator(seed, "randomized response")
    member = draws.random(ROWS) < 0.5
    rightly = draws.random(ROWS) < 1 / (1 + np.exp(-epsilon))
    return np.where(rightly, member, ~member).astype(np.float64), member


def _bound(epsilon: float, seed: int) -> float:
    return epsilon_lower_bound(*randomized_response(epsilon, seed), delta=0.0, seed=seed).epsilon
