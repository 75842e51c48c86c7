"""Do the claims on perturbed gradients that need no training hold, and would mistakes be caught?"""

import pytest

from unalike.theory.perturbed_gradient.problem import Perturbed
from unalike_studies.perturbed_gradient import theory


def broken(claims):
    return [claim for claim in claims if claim.hard and not claim.holds]


@pytest.fixture(scope="module")
def claims():
    return list(theory.theory_claims(quick=True))


def test_the_claims_hold(claims):
    assert broken(claims) == []
    assert {claim.id for claim in claims} == {"PG-3", "PG-4", "PG-5", "PG-9", "PG-15"}


def test_the_erratum_is_said(claims):
    wrong = [claim for claim in claims if not claim.holds]
    assert [claim.id for claim in wrong] == ["PG-15"]
    assert "erratum" in wrong[0].note


def test_another_beta_would_be_caught(monkeypatch):
    right = theory.affine_round

    def wrong(method, groups):
        return right(Perturbed(0.99 * method.beta) if isinstance(method, Perturbed) else method, groups)

    monkeypatch.setattr(theory, "affine_round", wrong)
    assert len(broken(theory.golden_claims())) == 5


def test_a_bound_that_is_too_small_would_be_caught(monkeypatch):
    right = theory.drift_bound
    monkeypatch.setattr(theory, "drift_bound", lambda *given, **rest: 0.01 * right(*given, **rest))
    assert len(broken(theory.upper_bound_claims(quick=True))) == 1


def test_contractions_that_are_too_small_would_be_caught(monkeypatch):
    right = theory.theorem_contraction
    monkeypatch.setattr(theory, "theorem_contraction", lambda *given: right(*given) ** 1.01)
    assert broken(theory.contraction_claims())
