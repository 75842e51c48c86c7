"""Does the weighted mean deviate as N_eff says, and does the bound hold as often as it promises?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.theory.reference_data import best_weight, effective_rows, generalization_bound

SIZES = (40, 90)


def weighted_means(weight, chance, draws=20_000):
    rng = np.random.default_rng(0)
    own, other = (rng.binomial(n, chance, draws) / n for n in SIZES)
    return weight * own + (1 - weight) * other


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.7, 1.0])
def test_the_variance_is_that_of_so_many_rows(weight):
    rows = effective_rows(weight, *SIZES)
    assert weighted_means(weight, 0.3).var() == pytest.approx(0.3 * 0.7 / rows, rel=0.05)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.7, 1.0])
def test_the_bound_fails_no_more_often_than_delta(weight):
    far = abs(weighted_means(weight, 0.5) - 0.5)
    for delta in (0.3, 0.05):
        assert (far > generalization_bound(weight, *SIZES, delta)).mean() <= delta


def test_all_rows_alike_have_the_most_effective_rows():
    grid = np.linspace(0, 1, 2001)
    found = [effective_rows(w, *SIZES) for w in grid]
    assert max(found) == pytest.approx(sum(SIZES), rel=1e-5)
    assert grid[int(np.argmax(found))] == pytest.approx(best_weight(*SIZES), abs=1e-3)


def test_what_has_no_bound_is_refused():
    for call, says in (
        (lambda: effective_rows(1.5, 1, 1), r"in \[0, 1\], got 1.5"),
        (lambda: effective_rows(0.5, 10, 0), "needs rows, but there are 10 and 0"),
        (lambda: generalization_bound(0.5, 10, 10, 0.0), r"delta must be in \(0, 1\), got 0"),
        (lambda: generalization_bound(0.5, 10, 10, 0.1, 0.5), "at least 1 hypothesis, got 0.5"),
        (lambda: best_weight(0, 0), "rows in one of the sets"),
    ):
        with pytest.raises(ConfigError, match=says):
            call()
    assert effective_rows(1.0, 10, 0) == 10
