"""Do the exact claims on FEM-OMD hold?"""

import pytest

from unalike_studies.online_mixture import theory


@pytest.mark.parametrize("part", ["pooling", "separation", "distance"])
def test_exact_claims_hold(part):
    assert all(claim.holds for claim in getattr(theory, f"{part}_claims")(range(2)))


def test_the_bound_holds_as_corrected_and_not_as_printed():
    claims = list(theory.regret_claims(quick=True))
    assert all(claim.holds for claim in claims)
    assert any("erratum" in claim.note for claim in claims)
