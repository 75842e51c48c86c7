"""Are the closed forms of the trade-off those of psi itself?"""

import numpy as np
import pytest

from unalike.data.streams.optimal_importance import imbalance, optimal_importance, psi, share_out
from unalike_studies.theory.streams.tradeoff import (
    best_bound,
    bound_at,
    effective_fraction,
    gap_curves,
    historical_threshold,
    share_curves,
    tie_fraction,
)

FRESH = np.arange(12) >= 5


def shares(fraction):
    return np.where(FRESH, (1 - fraction) / 7, fraction / 5)


@pytest.mark.parametrize("fraction", [0.05, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("ratio", [0.05, 0.3, 2.0])
def test_the_formulas_are_psi(fraction, ratio):
    n, kappa, unit = shares(fraction), ratio * np.sqrt(7), np.sqrt(7)
    for h in (0.0, fraction, 0.6, 1.0):
        p = share_out(h, n, FRESH)
        assert bound_at(h, fraction, kappa) == pytest.approx(unit * psi(p, n, FRESH, ratio))
        assert effective_fraction(h, fraction) == pytest.approx(1 / imbalance(p, n))
    best = optimal_importance(n, FRESH, ratio)
    assert best_bound(fraction, kappa) == pytest.approx(unit * psi(best, n, FRESH, ratio))


def test_uniform_and_historical_tie_where_they_should():
    for kappa in (0.25, 0.75, 1.5, 1.99):
        f = tie_fraction(kappa)
        assert bound_at(1.0, f, kappa) == pytest.approx(bound_at(f, f, kappa))
    assert np.isnan(tie_fraction(2.0))
    assert historical_threshold(0.5625, 25) == pytest.approx(0.15)


def test_curves_are_tables_of_the_same_numbers():
    ratios, fractions = np.geomspace(0.01, 1, 30), np.array([0.05, 0.2, 0.5])
    curves = share_curves(ratios, fractions, fresh=7)
    assert curves.historical.shape == curves.effective.shape == curves.noise.shape == (3, 30)
    best = optimal_importance(shares(0.2), FRESH, ratios[20])
    assert curves.historical[1, 20] == pytest.approx(best[~FRESH].sum())
    gaps = gap_curves(np.linspace(0.01, 0.99, 40), [0.1, 0.3])
    assert (gaps.historical_over_best >= -1e-12).all()
    assert (gaps.uniform_over_best >= -1e-12).all()
    np.testing.assert_allclose(
        gaps.historical_over_uniform, gaps.historical_over_best - gaps.uniform_over_best, atol=1e-12
    )


def test_the_ends_have_no_holes():
    assert best_bound(0.0, 0.5) == 1.5
    assert bound_at(0.0, 0.0, 0.5) == 1.5
    assert effective_fraction(1.0, 1.0) == 1
