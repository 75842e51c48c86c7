"""Empirical lower bound on epsilon from one training.

    P(at least c of r guesses are right)  <=  P(Binomial(r, e^eps / (1 + e^eps)) >= c)  +  2 m delta alpha

holds for every (eps, delta)-private training on rows that were put in or left out by fair coins; the bound is
the largest epsilon that the guesses refute. Steinke, Nasr and Jagielski, "Privacy Auditing with One (1)
Training Run" (2023). Guesses are made on the surest rows of both ends, and how many is decided on one half
of the rows and judged on the other. Rows are those of a random split, whose number is fixed, so that their
coins are fair but not quite independent; the bound is for single rows, not for clients.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from ...core.random import generator
from ...errors import ConfigError

_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Shares of all rows that may be guessed."""
_MOST_EPSILON = 50.0


class EpsilonBound(NamedTuple):
    """What the guesses prove."""

    epsilon: float
    delta: float
    guesses: int
    right: int
    level: float


def epsilon_lower_bound(
    scores: ArrayLike, member: ArrayLike, delta: float = 1e-5, level: float = 0.95, seed: int = 0
) -> EpsilonBound:
    """The largest epsilon that scores of a balanced set refute at this level; zero where they refute none.

    >>> rng = np.random.default_rng(0)
    >>> member = np.arange(2000) % 2 == 0
    >>> blind, seeing = rng.normal(size=2000), rng.normal(size=2000) + 4 * member
    >>> epsilon_lower_bound(blind, member).epsilon, epsilon_lower_bound(seeing, member).epsilon > 2
    (0.0, True)
    """
    if not 0 <= delta < 1:
        raise ConfigError(f"delta must be at least 0 and below 1, but is {delta:g}.")
    values, inside = np.asarray(scores, np.float64), np.asarray(member, bool)
    values = np.where(np.isnan(values), np.nanmin(values, initial=0.0), values)
    draws = generator(seed, "audit halves")
    order = draws.permutation(len(values))  # so that equal scores are guessed at random
    values, inside, first = values[order], inside[order], draws.random(len(values)) < 0.5
    trials = [(*_guess(values[first], inside[first], share), share) for share in _SHARES]
    best = max(trials, key=lambda t: refuted_epsilon(t[0], t[1], int(first.sum()), delta, level))
    rest = ~first
    guesses, right = _guess(values[rest], inside[rest], best[2])
    found = refuted_epsilon(guesses, right, int(rest.sum()), delta, level)
    return EpsilonBound(found, delta, guesses, right, level)


def refuted_epsilon(guesses: int, right: int, rows: int, delta: float, level: float = 0.95) -> float:
    """The largest epsilon with a p-value below 1 - level, by bisection; the p-value grows with epsilon."""
    if p_value(0.0, guesses, right, rows, delta) > 1 - level:
        return 0.0
    low, high = 0.0, _MOST_EPSILON
    for _ in range(30):
        middle = (low + high) / 2
        if p_value(middle, guesses, right, rows, delta) > 1 - level:
            high = middle
        else:
            low = middle
    return low


def p_value(epsilon: float, guesses: int, right: int, rows: int, delta: float) -> float:
    """How probable so many right guesses are at most, if training is (epsilon, delta)-private.

    >>> round(p_value(0.0, 10, 10, 10, 0.0), 6) == round(2.0**-10, 6)
    True
    """
    q = 1 / (1 + np.exp(-epsilon))
    tail = float(scipy.stats.binom.sf(right - 1, guesses, q))
    if not delta or not right:
        return min(tail, 1.0)
    just_below = np.cumsum(scipy.stats.binom.pmf(np.arange(right - 1, -1, -1), guesses, q))
    alpha = float((just_below / np.arange(1, right + 1)).max())
    return min(tail + 2 * rows * delta * alpha, 1.0)


def _guess(scores: np.ndarray, member: np.ndarray, share: float) -> tuple[int, int]:
    """How many rows are guessed, members at the top and non-members at the bottom, and how many rightly."""
    each = max(1, int(share * len(scores) / 2)) if len(scores) > 1 else 0
    order = np.argsort(scores, kind="stable")
    right = member[order[len(order) - each :]].sum() + (~member[order[:each]]).sum()
    return 2 * each, int(right)
