"""Do the formulas of the study hold, and would wrong ones be caught?"""

import numpy as np
import pytest

from unalike.algorithms.shared.fair_weights import ClientGroups
from unalike_studies.fairness import bounds, theory


def broken(claims):
    """The hard claims that do not hold."""
    return [claim for claim in claims if claim.hard and not claim.holds]


def test_exact_claims_hold():
    claims = [*theory.multiplier_claims(), *theory.lambda_claims(), *theory.baseline_claims()]
    assert not broken([*claims, *theory.identity_claims(5)])


def test_wrong_rank_scores_are_caught(monkeypatch):
    scores = theory.rank_scores
    monkeypatch.setattr("unalike.algorithms.shared.fair_weights.rank_scores", lambda losses: -scores(losses))
    assert len(broken(theory.multiplier_claims())) >= 2
    assert broken(theory.identity_claims(3))


def test_a_wrong_maximum_is_caught(monkeypatch):
    right = ClientGroups.largest_lambda
    monkeypatch.setattr(ClientGroups, "largest_lambda", lambda self: 2 * right(self))
    assert broken(theory.lambda_claims())


def test_errata_are_printed_as_not_holding():
    soft = [claim for claim in theory.errata_claims() if not claim.hard]
    assert len(soft) == 3
    assert not any(claim.holds for claim in soft)
    assert [claim.measured for claim in soft[:2]] == pytest.approx([9.68, 4.88])


def test_the_smallest_objective_is_below_what_descent_reaches():
    problem = theory.least_squares(1.0)
    groups = ClientGroups(tuple(range(8)), (1 / 8,) * 8, tuple("abcdefgh"))
    lam = groups.largest_lambda() / 2
    least = theory.smallest_objective(problem, groups, lam)
    assert least < theory.descend(problem, groups, lam, 200)
    rng = np.random.default_rng(0)
    near = [theory.objective(groups, problem.losses(rng.normal(size=10)), lam) for _ in range(50)]
    assert least < min(near)


def test_bounds_hold_as_corrected_and_the_printed_ones_are_reported(monkeypatch):
    claims = list(bounds.bound_claims(True))
    assert not broken(claims)
    printed = [claim for claim in claims if not claim.hard]
    assert [claim.holds for claim in printed] == [False, False, True]
    assert all(claim.place.startswith("Theorem") for claim in printed)
    right = bounds.generalization_bound
    monkeypatch.setattr(bounds, "generalization_bound", lambda *a, **rest: 0.3 * right(*a, **rest))
    assert {claim.id for claim in broken(bounds.generalization_claims())} == {"G11"}
