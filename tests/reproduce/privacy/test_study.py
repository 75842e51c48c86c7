"""Do the claims on leakage hold on a small problem, and would mistakes be caught?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.algorithms import Optimizer
from unalike.experiments.audit_rows import OTHERS, REFERENCE, TRAINING, AuditRows
from unalike.models import Task, linear
from unalike.reproduce.privacy import theory, training
from unalike.reproduce.privacy.data import draw_baskets
from unalike.reproduce.privacy.weighted_rows import row_weights, train_weighted


@pytest.fixture(scope="module")
def drawn():
    return [training.attack_draw(quick=True, seed=0)]


def broken(claims):
    return {claim.id for claim in claims if claim.hard and not claim.holds}


def test_the_claims_on_training_hold(drawn, monkeypatch):
    monkeypatch.setattr(training, "attack_draw", lambda quick, seed: drawn[0])
    claims = list(training.training_claims(quick=True))
    assert broken(claims) == set()
    assert {claim.id for claim in claims} == {"P1", "P2", "P3", "P5", "A1", "A2", "A3"}


def test_a_weight_that_does_nothing_would_be_caught(drawn):
    whole = drawn[0]
    same, backwards = (replace(whole) for _ in range(2))
    same.__dict__["verdicts"] = [whole.verdicts[2]] * 5  # attacking again would say the same
    backwards.__dict__["verdicts"] = whole.verdicts[::-1]
    assert broken(training.endpoint_claims([same])) == {"P2"}
    assert broken(training.order_claims([backwards])) == {"P1"}


def test_the_claims_on_epsilon_hold_and_a_bound_without_its_margin_would_be_caught(monkeypatch):
    assert broken(theory.theory_claims(quick=True)) == set()
    right = theory.epsilon_lower_bound

    def without_margin(*given, **rest):
        return right(*given, **{**rest, "level": 0.5})

    monkeypatch.setattr(theory, "epsilon_lower_bound", without_margin)
    assert broken(theory.theory_claims(quick=True)) == {"E1"}


def test_weights_are_those_of_the_objective():
    rng = np.random.default_rng(0)
    kinds, losses = np.repeat([TRAINING, REFERENCE], [30, 10]), rng.random(40)
    expected = 0.3 * losses[:30].mean() + 0.7 * losses[30:].mean()
    assert (row_weights(kinds, 0.3) * losses).mean() == pytest.approx(expected, rel=1e-5)


def test_a_weight_of_one_is_training_without_the_reference_rows():
    """The endpoint against rows whose labels are shuffled: they must not matter."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(60, 4)).astype(np.float32), rng.integers(0, 2, 60).astype(np.int32)
    kinds = np.repeat([TRAINING, OTHERS, REFERENCE], 20)
    task = Task.classification(linear(input_shape=(4,), outputs=2), classes=2)
    other = np.where(kinds == REFERENCE, 1 - y, y)
    first, second = (
        train_weighted(task, AuditRows(x, labels, np.zeros(60, int), kinds), [1.0, 0.5], 5, Optimizer(), 0)
        for labels in (y, other)
    )
    seen = kinds != REFERENCE
    np.testing.assert_allclose(first[0].scaled[seen], second[0].scaled[seen], rtol=1e-5)
    assert np.abs(first[1].scaled[seen] - second[1].scaled[seen]).max() > 0.1


def test_baskets_are_binary_and_their_classes_can_be_learned():
    x, y = draw_baskets(600, 5, 3)
    means = np.stack([x[:300][y[:300] == k].mean(0) for k in range(5)])
    nearest = ((x[300:, None] - means) ** 2).sum(-1).argmin(1)
    assert (nearest == y[300:]).mean() > 0.6
