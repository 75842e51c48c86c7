"""Is the better of two schemes called the better one, for the right reason?"""

import math

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.participation import (
    Binomial,
    Full,
    Multinomial,
    OriginalFedAvg,
    Poisson,
    Renormalized,
    Uniform,
    WeightStatistics,
)
from unalike.participation.samplers.clustered_size import ClusteredBySize
from unalike.theory.sampling.comparison import (
    compare_schemes,
    misplaced_weight,
    step_length,
    uniform_beats_multinomial,
    uniform_thresholds,
)

BOTH = ("uniform", "md")
SIZES = np.repeat([100, 250, 500, 750, 1000], [10, 30, 30, 20, 10])


def with_squares(clients, squares):
    """Importances of a given sum of squares: one client counts more, all others the same."""
    excess = math.sqrt((squares - 1 / clients) * (1 - 1 / clients))
    return np.r_[1 / clients + excess, np.full(clients - 1, 1 / clients - excess / (clients - 1))]


def uniform_and_multinomial(importance, m):
    return Uniform(per_round=m).statistics(importance), Multinomial(per_round=m).statistics(importance)


@pytest.mark.parametrize(("n", "ratio"), [(10, 5 / 9), (20, 10 / 19), (40, 20 / 39), (80, 40 / 79)])
def test_for_equal_clients_the_gammas_have_a_known_ratio_and_difference(n, ratio):
    m = n // 2
    uniform, multinomial = uniform_and_multinomial(np.full(n, 1 / n), m)
    assert uniform.gamma / multinomial.gamma == pytest.approx(ratio, rel=1e-12)
    assert multinomial.gamma - uniform.gamma == pytest.approx((m - 1) / (m * (n - 1)), rel=1e-12)
    verdict = compare_schemes(uniform, multinomial, BOTH)
    assert verdict.winner == "uniform"
    assert verdict.gamma.better == verdict.total_variance.better == "uniform"


def test_thresholds_are_where_the_numbers_of_both_schemes_meet():
    for n, m in [(100, 10), (10, 5), (80, 40), (7, 1)]:
        variance, gamma = uniform_thresholds(n, m)
        uniform, multinomial = uniform_and_multinomial(with_squares(n, variance), m)
        assert uniform.total_variance == pytest.approx(multinomial.total_variance, rel=1e-9)
        uniform, multinomial = uniform_and_multinomial(with_squares(n, gamma), m)
        assert uniform.gamma == pytest.approx(multinomial.gamma, rel=1e-9)
        assert variance <= gamma * (1 + 1e-12)


@pytest.mark.parametrize(
    ("squares", "variance", "gamma"),
    [(0.01001, *BOTH[:1] * 2), (0.010985, *BOTH[:1] * 2), (0.010995, "md", "uniform"), (0.0111, "md", "md")],
)
def test_a_sweep_across_both_thresholds_goes_from_uniform_through_mixed_to_multinomial(
    squares, variance, gamma
):
    importance = with_squares(100, squares)
    assert importance @ importance == pytest.approx(squares)
    verdict = compare_schemes(*uniform_and_multinomial(importance, 10), BOTH)
    assert (verdict.total_variance.better, verdict.gamma.better) == (variance, gamma)
    assert verdict.variance_of_sum.better == "md"  # uniform weights sum to one only if all are equal
    assert uniform_beats_multinomial(importance, 10) == (variance == gamma == "uniform")
    assert verdict.winner == ("md" if variance == gamma == "md" else "mixed")


def test_all_clients_every_round_leave_no_threshold_for_gamma():
    assert uniform_thresholds(5, 5) == (1.0, math.inf)
    assert uniform_beats_multinomial(np.array([0.6, 0.1, 0.1, 0.1, 0.1]), 5)
    with pytest.raises(ConfigError, match=r"per_round must be between 1 and the number of clients \(5\)"):
        uniform_thresholds(5, 6)


def test_a_comparison_turned_around_is_the_same_comparison():
    importance = SIZES / SIZES.sum()
    schemes = [
        Full(),
        *(kind(per_round=10) for kind in (Multinomial, Uniform, Binomial, Poisson, OriginalFedAvg)),
    ]
    for one in schemes:
        for two in schemes:
            known = one.statistics(importance), two.statistics(importance)
            there = compare_schemes(*known, ("a", "b"))
            back = compare_schemes(*known[::-1], ("b", "a"))
            assert there.winner == back.winner
            assert [criterion.better for criterion in there] == [criterion.better for criterion in back]


def test_a_scheme_is_equal_to_itself():
    known = Binomial(per_round=3).statistics(np.array([0.4, 0.3, 0.2, 0.1]))
    verdict = compare_schemes(known, known)
    assert (verdict.winner, verdict.reason) == ("equal", "no criterion tells them apart.")


def test_when_both_sums_are_certain_the_smaller_total_variance_decides():
    importance = SIZES / SIZES.sum()
    clustered = ClusteredBySize(per_round=10, sizes=SIZES).statistics(importance)
    verdict = compare_schemes(
        clustered, Multinomial(per_round=10).statistics(importance), ("clustered", "md")
    )
    assert verdict.winner == "clustered"
    assert verdict.total_variance.first == pytest.approx(0.08749070, abs=1e-8)
    assert verdict.total_variance.second == pytest.approx((1 - importance @ importance) / 10)
    assert "(0.08749 against 0.09869)" in verdict.reason


def test_a_bound_on_gamma_speaks_for_a_scheme_but_never_against_it():
    equal, unequal = np.full(100, 0.01), SIZES / SIZES.sum()
    for importance, better in [(equal, None), (unequal, "clustered")]:
        clustered = ClusteredBySize(per_round=10).statistics(importance)
        uniform = Uniform(per_round=10).statistics(importance)
        assert compare_schemes(clustered, uniform, ("clustered", "uniform")).gamma.better == better
        assert compare_schemes(uniform, clustered, ("uniform", "clustered")).gamma.better == better


def test_short_steps_in_the_right_direction_are_not_a_bias():
    importance = np.array([0.5, 0.3, 0.1, 0.1])
    original, uniform = (kind(per_round=2).statistics(importance) for kind in (OriginalFedAvg, Uniform))
    assert step_length(original) == pytest.approx(0.5)
    verdict = compare_schemes(original, uniform, ("original", "uniform"))
    assert verdict.winner == "equal"
    assert "steps of original have 0.5 of the full length" in verdict.reason
    assert "learning rate of 2 repairs" in verdict.reason


def test_only_the_unbiased_scheme_can_win_against_a_biased_one():
    importance = np.array([0.7, 0.1, 0.1, 0.1])
    biased = Renormalized(per_round=2).statistics(importance)
    verdict = compare_schemes(biased, Multinomial(per_round=2).statistics(importance), ("renormalized", "md"))
    assert verdict.winner == "md"
    assert verdict.total_variance.better == "md"
    # With client 0 (probability 1/2) it weighs 7/8, so 7/16 of the weight instead of 7/10 are there.
    assert verdict.bias.first == pytest.approx(0.7 - 7 / 16)
    assert "only md is unbiased; 26 %" in verdict.reason


def test_weights_that_are_never_positive_are_all_misplaced():
    zeros = np.zeros(2)
    nothing = WeightStatistics(np.full(2, 0.5), zeros, zeros, zeros, 0.0, alpha=0.0)
    assert misplaced_weight(nothing) == 1.0
    full = Full().statistics(np.full(2, 0.5))
    assert compare_schemes(nothing, full, ("nothing", "full")).winner == "full"
