"""Do the cheap claims on memory hold?"""

from unalike_studies.knnper.data import Scale, skewed_problem
from unalike_studies.knnper.rivals import bound_claims, exact_claims, traffic_claims


def test_identities_hold():
    problem = skewed_problem(0.3, 5, Scale(clients=8, train=800, test=400, rounds=4))
    claims = [*traffic_claims(problem), *exact_claims(problem), *bound_claims()]
    assert [claim.claim for claim in claims if not claim.holds] == []
    assert len(claims) == 9
