"""Do the claims on topologies that need no map hold?"""

from unalike_studies.topology.theory import (
    example_claims,
    guarantee_claims,
    matching_claims,
    mixing_claims,
)


def test_worked_examples_guarantees_weights_and_matchings_hold():
    for claim in (*example_claims(), *guarantee_claims(True), *mixing_claims(), *matching_claims(True)):
        assert claim.holds or not claim.hard, claim
