"""Do the claims on likeness that need no data hold, and would mistakes be caught?"""

import pytest

from unalike_studies.likeness import theory


def broken(claims):
    return {claim.id for claim in claims if not claim.holds}


def test_the_claims_hold():
    claims = list(theory.theory_claims(quick=True))
    assert broken(claims) == set()
    assert {claim.id for claim in claims} == {"L1", "L2", "L10"}


def test_the_erratum_is_said_and_the_printed_probability_would_be_caught(monkeypatch):
    assert any("erratum" in claim.note for claim in theory.probability_claims(quick=True))
    right = theory.probability_of_less
    monkeypatch.setattr(theory, "probability_of_less", lambda network, corrected=True: right(network, False))
    assert broken(theory.probability_claims(quick=True)) == {"L10"}


def test_a_wrong_homogeneity_or_misalignment_would_be_caught(monkeypatch):
    right = theory.homogeneity
    monkeypatch.setattr(theory, "homogeneity", lambda weights: 1.001 * right(weights))
    assert broken(theory.identity_claims()) == {"L1"}
    monkeypatch.undo()
    wrong = theory.misalignment
    monkeypatch.setattr(theory, "misalignment", lambda messages: wrong(messages) + 1e-6)
    assert broken(theory.misalignment_claims()) == {"L2"}


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_deviations_outside_their_bounds_would_be_caught(monkeypatch, factor):
    right = theory.squared_deviation_bounds

    def moved(network, corrected=True):
        lower, upper = right(network, corrected)
        return right(network, corrected)._replace(lower=lower / factor, upper=upper * factor / 10)

    monkeypatch.setattr(theory, "squared_deviation_bounds", moved)
    assert broken(theory.deviation_claims(quick=True)) == {"L10"}
