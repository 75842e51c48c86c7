"""Do the claims on free-riders that need no training hold, and would mistakes be caught?"""

import pytest

from unalike_studies.free_riders import theory
from unalike_studies.free_riders.data import PROXIMAL, VARIANCES
from unalike_studies.theory.free_riders import simulation


def broken(claims):
    return [claim for claim in claims if not claim.holds]


@pytest.fixture
def few(monkeypatch):
    """Fewer replicas, where a mistake is large."""
    monkeypatch.setattr(theory, "REPLICAS", 2000)
    monkeypatch.setattr(theory, "ROUNDS", 150)


def test_the_claims_hold():
    claims = list(theory.theory_claims(quick=True))
    assert broken(claims) == []
    assert {claim.id for claim in claims} == {"F2", "F3", "F4", "F5", "F6", "F7", "F8"}
    assert len([claim for claim in claims if claim.id == "F3"]) == len(VARIANCES)
    assert len([claim for claim in claims if claim.id == "F6"]) == 3 * len(PROXIMAL) + 1


def test_errata_are_said(few):
    said = {claim.id: claim.note for claim in theory.variance_claims() if claim.note}
    assert "erratum" in said["F3"]
    assert "rises only with a disguise" in said["F4"]


def test_the_printed_variance_would_be_caught(monkeypatch, few):
    right = theory.variance
    monkeypatch.setattr(
        theory, "variance", lambda *given, **rest: right(*given, **{**rest, "form": "printed"})
    )
    assert {claim.id for claim in broken(theory.variance_claims())} == {"F3"}


def test_a_wrong_contraction_would_be_caught(monkeypatch, few):
    right = simulation.contraction

    def wrong(sizes, keep, claimed=0.0):
        found = right(sizes, keep, claimed)
        return found._replace(ridden=found.ridden**0.9)

    monkeypatch.setattr(theory, "predicted_difference", lambda problem, paths: paths.fair)
    assert broken(theory.pathwise_claims())
    monkeypatch.setattr(simulation, "contraction", wrong)
    assert broken(theory.mean_claims())


def test_other_constants_of_fedprox_would_be_caught(monkeypatch):
    right = theory.local_process
    monkeypatch.setattr(
        theory,
        "local_process",
        lambda r, rate, steps, s, batch, mu: right(r, rate, steps, s, batch, 0.9 * mu),
    )
    assert len(broken(theory.proximal_claims())) >= 8
