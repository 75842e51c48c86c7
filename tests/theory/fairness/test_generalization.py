"""Does the generalization bound of fair weights hold as often as promised, and is a row's influence right?"""

from itertools import combinations

import numpy as np
import pytest

from unalike.algorithms.shared.fair_weights import ClientGroups
from unalike.errors import ConfigError
from unalike.theory.fairness.generalization import deviation, generalization_bound

GROUPS = ClientGroups((0, 0, 1, 2), (0.1, 0.3, 0.4, 0.2), ("a", "b", "c"))
SIZES = (6, 9, 12, 8)


def objective(losses, lam):
    """On clients' mean losses, along the last axis."""
    means = [losses[..., [k for k, g in enumerate(GROUPS.group) if g == one]].mean(-1) for one in range(3)]
    spread = sum(abs(a - b) for a, b in combinations(means, 2))
    return losses @ np.array(GROUPS.importance) + lam * spread


def draw(chances, draws=20_000):
    rng = np.random.default_rng(0)
    return np.stack([rng.binomial(n, p, draws) / n for n, p in zip(SIZES, chances, strict=True)], -1)


@pytest.mark.parametrize("lam", [0.0, 0.1, 0.4])
def test_no_row_moves_the_objective_by_more_than_the_bound_sums(lam):
    """The square root is that of the sum of squares of these influences, over all rows."""
    rng = np.random.default_rng(1)
    moves = np.zeros(4)
    for _ in range(3000):
        rows = [rng.integers(0, 2, n) for n in SIZES]
        losses = np.array([row.mean() for row in rows])
        for k, n in enumerate(SIZES):
            other = losses.copy()
            other[k] += (1 - 2 * rows[k][0]) / n
            moves[k] = max(moves[k], abs(objective(other, lam) - objective(losses, lam)))
    delta = 0.1
    found = np.sqrt(0.5 * np.log(1 / delta) * (np.array(SIZES) * moves**2).sum())
    assert found == pytest.approx(deviation(GROUPS, SIZES, lam, delta), rel=1e-9)


@pytest.mark.parametrize("lam", [0.0, 0.2])
def test_one_hypothesis_is_within_the_bound_as_often_as_promised(lam):
    chances = np.array([0.2, 0.7, 0.5, 0.4])
    short = objective(chances, lam) - objective(draw(chances), lam)
    for delta in (0.3, 0.05):
        assert (short > generalization_bound(GROUPS, SIZES, lam, delta=delta)).mean() <= delta


def test_the_printed_factor_is_too_small_without_penalty():
    """It sums over clients: with it the bound fails far more often than it promises."""
    groups = ClientGroups((0, 1, 2), (0.2, 0.3, 0.5), ("a", "b", "c"))
    sizes, factor = (20, 30, 50), np.sqrt(0.5 * np.log(20))
    assert deviation(groups, sizes, 0.0) / factor == pytest.approx(0.1)
    assert deviation(groups, sizes, 0.0, printed=True) / factor == pytest.approx(0.0173205, rel=1e-5)
    rng = np.random.default_rng(2)
    means = np.stack([rng.binomial(n, 0.5, 20_000) / n for n in sizes], -1) @ np.array(groups.importance)
    assert (0.5 - means > generalization_bound(groups, sizes, 0.0, printed=True)).mean() > 0.3
    assert (0.5 - means > generalization_bound(groups, sizes, 0.0)).mean() <= 0.05


def test_terms_add_up_and_what_has_no_bound_is_refused():
    plain = deviation(GROUPS, SIZES, 0.1, largest_loss=2.0)
    whole = generalization_bound(GROUPS, SIZES, 0.1, 0.3, (0.1, 0.2, 0.3), largest_loss=2.0)
    assert whole == pytest.approx(plain + 2 * 0.3 + 2 * 0.1 * 2 * 0.6)
    printed = generalization_bound(GROUPS, SIZES, 0.1, 0.3, largest_loss=2.0, printed=True)
    square = deviation(GROUPS, SIZES, 0.1, largest_loss=2.0, printed=True)
    assert printed == pytest.approx(square + 0.6 + 0.1 * 3 * 2.0)
    with pytest.raises(ConfigError, match="at least 1 for each of 4 clients"):
        deviation(GROUPS, (1, 2, 3), 0.1)
    with pytest.raises(ConfigError, match=r"delta must be in \(0, 1\), got 1"):
        deviation(GROUPS, SIZES, 0.1, 1.0)
