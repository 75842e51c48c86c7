"""Are the claims on the published column decided as they read?"""

import pytest

from unalike.experiments.unlearning_schemes import Forgetting
from unalike_studies.unlearning import published
from unalike_studies.unlearning.published import compared_claims, last_claim, real_claims


def results(sifu_rounds, sifu_left):
    numbers = {"scratch": (100, 0.0), "sifu": (sifu_rounds, sifu_left), "fine-tuning": (20, 0.5)}
    return {
        scheme: [[Forgetting(rounds, 0.0, left, 0.9, None, left, 0.0)] * 3] * 2
        for scheme, (rounds, left) in numbers.items()
    }


@pytest.mark.parametrize(
    ("rounds", "left", "verdicts"),
    [(50, 0.1, [True, True]), (95, 0.1, [False, True]), (50, 0.4, [True, False])],
)
def test_half_the_cost_and_nearer_to_scratch(rounds, left, verdicts):
    claims = list(compared_claims(results(rounds, left)))
    assert [claim.holds for claim in claims] == [*verdicts, True]
    assert claims[0].measured == rounds / 100


def test_a_model_that_becomes_good_again_breaks_the_claim_on_last():
    reached = Forgetting(509, 0.0, 0.1, 0.93, None, 0.1, 0.05)
    assert not last_claim(reached, "reference", 10_000).holds
    assert last_claim(reached._replace(rounds=10_000), "realized", 10_000).holds


def test_without_the_images_nothing_is_claimed(monkeypatch):
    monkeypatch.setattr(published, "has_mnist", lambda: False)
    assert list(real_claims(quick=True)) == []
