"""Does the noise hide what it is said to hide?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.trust.unlearning.calibration import Budget, classic_ratio, exact_ratio, gaussian_delta

TABLE = [
    (10, 0.01, 3.21801, 0.04058, 2.85635),
    (5, 0.01, 1.60900, 0.00385, 1.75630),
    (2, 0.01, 0.64360, 0.00043, 0.89585),
    (1, 0.01, 0.32180, 0.00014, 0.53252),
    (0.5, 0.01, 0.16090, 0.00005, 0.31777),
    (10, 1e-5, 2.06407, 0.00002, 2.00045),
]


@pytest.mark.parametrize(("epsilon", "delta", "classic", "true_delta", "exact"), TABLE)
def test_both_rules_give_the_tabulated_ratios(epsilon, delta, classic, true_delta, exact):
    assert classic_ratio(epsilon, delta) == pytest.approx(classic, abs=6e-6)
    assert gaussian_delta(epsilon, classic) == pytest.approx(true_delta, abs=6e-6)
    assert exact_ratio(epsilon, delta) == pytest.approx(exact, abs=6e-6)


@pytest.mark.parametrize("calibration", ["exact", "classic"])
def test_the_noise_of_the_largest_sensitivity_is_the_budgets(calibration):
    budget = Budget(3.0, 0.001, 0.7, calibration)
    assert budget.sigma_for(budget.largest_sensitivity) == pytest.approx(0.7, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.3), (1, 1e-9), (30, 0.01), (200, 1e-6)])
def test_the_exact_rule_spends_exactly_its_delta(epsilon, delta):
    assert gaussian_delta(epsilon, exact_ratio(epsilon, delta)) == pytest.approx(delta, rel=1e-6)


def test_by_integration_no_set_of_outcomes_is_more_telling_than_delta():
    epsilon, ratio = 2.0, 0.9
    x = np.linspace(-12, 14, 400_001)
    here, there = (np.exp(-0.5 * (x - shift) ** 2) / np.sqrt(2 * np.pi) for shift in (ratio, 0.0))
    worst = np.trapezoid(np.maximum(here - np.exp(epsilon) * there, 0), x)
    assert gaussian_delta(epsilon, ratio) == pytest.approx(worst, rel=1e-6)


def test_only_theorems_are_certified():
    assert Budget(10, 0.01, 1.0).certified
    assert Budget(0.5, 0.01, 1.0, "classic").certified
    assert not Budget(1.0, 0.01, 1.0, "classic").certified


@pytest.mark.parametrize(
    "bad", [(0, 0.1, 1), (-1, 0.1, 1), (1, 0, 1), (1, 1, 1), (1, 0.1, 0), (1, 0.1, np.nan)]
)
def test_budgets_that_are_none_are_refused(bad):
    with pytest.raises(ConfigError, match="must"):
        Budget(*bad)


def test_other_rules_are_refused():
    with pytest.raises(ConfigError, match="exact or classic"):
        Budget(1, 0.1, 1, "generous")
