"""Do the exact claims on FedEM hold, and would a wrong sign, order or weight be caught?"""

import pytest

from unalike_studies.fedem import theory
from unalike_studies.theory.mixtures import em_oracle


def broken(claims):
    """The hard claims that do not hold."""
    return [claim for claim in claims if claim.hard and not claim.holds]


@pytest.mark.parametrize(
    ("claims", "count"),
    [
        (lambda: theory.identity_claims(range(2)), 4),
        (lambda: theory.sign_claims(range(2)), 2),
        (lambda: theory.mixing_claims(quick=True), 6),
    ],
)
def test_exact_claims_hold(claims, count):
    made = list(claims())
    assert len(made) == count
    assert broken(made) == []


def test_a_divergence_the_wrong_way_round_is_caught(monkeypatch):
    right = em_oracle.divergence
    monkeypatch.setattr(theory, "divergence", lambda p, q: right(q, p))
    assert len(broken(theory.identity_claims(range(1)))) == 2


def test_a_wrong_posterior_is_caught(monkeypatch):
    monkeypatch.setattr(
        em_oracle.MixtureProblem, "posterior", lambda self, theta, weights: weights[self.owners]
    )
    assert broken(theory.identity_claims(range(1)))
