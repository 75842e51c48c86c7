"""Do the exact claims on unlearning hold?"""

from unalike_studies.unlearning.theory import theory_claims


def test_every_exact_claim_holds():
    claims = list(theory_claims(quick=True))
    assert {claim.id for claim in claims} == {f"UL-{n}" for n in range(1, 9)}
    assert [claim.claim for claim in claims if not claim.holds] == []


def test_the_erratum_is_printed_as_one():
    (claim,) = (one for one in theory_claims(quick=True) if "promised" in one.claim)
    assert "erratum" in claim.note
    assert claim.measured > 4 * claim.published
