"""Are gains those of the same seed, and does a claim say what was scaled down?"""

import numpy as np
import pytest

from unalike_studies.sampling import influence
from unalike_studies.sampling.data import Curve
from unalike_studies.sampling.influence import Effort, gains, influence_claims, problem

SMALL = Effort(2, 3, (10, 100), (5, 10))


@pytest.fixture
def no_training(monkeypatch):
    """Losses that are one with md, and lower with more steps and fewer clients otherwise."""

    def learn(problem, name, drawn, seed):
        saved = 0.0 if name == "md" else 0.001 * problem.work.steps / drawn * (1 + seed)
        return Curve(np.full(6, 1 - saved), np.ones(6))

    monkeypatch.setattr(influence, "learn", learn)
    monkeypatch.setattr(influence, "FULL", SMALL)


def test_gains_are_parts_of_mds_loss_seed_by_seed(no_training):
    np.testing.assert_allclose(gains(100, 10, SMALL), [[0.01, 0.02], [0.01, 0.02]])


def test_orders_that_are_there_are_found_and_the_scale_is_said(no_training):
    claims = list(influence_claims(quick=False))
    assert {claim.id for claim in claims} == {"CS-18", "CS-19"}
    assert all(claim.holds and not claim.hard for claim in claims)
    assert all("3 rounds of 500 to 2,000" in claim.note for claim in claims)
    assert claims[1].claim.endswith("with 10, 5 clients a round"), "fewer clients come last"


def test_problems_take_the_published_steps_and_rates():
    few, many = (problem(steps, 0, SMALL) for steps in (10, 100))
    assert (few.work.steps, few.learning_rate, many.learning_rate) == (10, 0.1, 0.05)
    assert len(many.federation) == 100
