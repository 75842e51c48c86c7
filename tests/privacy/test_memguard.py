"""Does MemGuard make a surrogate attack unsure, without another label and within its budget?"""

import numpy as np
import pytest

import unalike
from unalike.privacy.memguard import fit_attack, guard

ROWS, CLASSES = 300, 5


def softmax(logits):
    return np.exp(logits) / np.exp(logits).sum(1, keepdims=True)


@pytest.fixture(scope="module")
def predictions():
    """Members are predicted with more confidence than others, as by a model that has learnt them by heart."""
    rng = np.random.default_rng(0)
    return tuple(softmax(scale * rng.normal(size=(ROWS, CLASSES))).astype(np.float32) for scale in (4.0, 1.0))


@pytest.fixture(scope="module")
def attack(predictions):
    return fit_attack(*predictions)


def accuracy(attack, members, others):
    return (
        (np.asarray(attack.log_odds(members)) > 0).mean() + (np.asarray(attack.log_odds(others)) <= 0).mean()
    ) / 2


def test_the_surrogate_tells_members_and_after_the_guard_it_is_unsure(predictions, attack):
    assert accuracy(attack, *predictions) > 0.75
    before, after = (
        np.mean([np.abs(np.asarray(attack.log_odds(rows))).mean() for rows in sets])
        for sets in (predictions, [guard(rows, attack, 2.0).chances for rows in predictions])
    )
    assert after < 0.25 * before


def test_labels_stay_and_rows_are_probabilities(predictions, attack):
    for rows in predictions:
        found = guard(rows, attack, 2.0).chances
        assert np.array_equal(found.argmax(1), rows.argmax(1))
        np.testing.assert_allclose(found.sum(1), 1.0, atol=1e-5)
        assert (found >= 0).all()


@pytest.mark.parametrize("budget", [0.0, 0.1, 0.5])
def test_the_mean_distortion_keeps_the_budget(predictions, attack, budget):
    for rows in predictions:
        found = guard(rows, attack, budget)
        moved = np.abs(found.chances - rows).sum(1)
        assert moved.mean() <= budget + 4 * moved.std() / np.sqrt(ROWS) + 1e-6
        assert (moved[~found.changed] == 0).all()
    if budget == 0:
        assert not found.changed.any()


def test_a_larger_budget_changes_more_rows(predictions, attack):
    shares = [guard(predictions[0], attack, budget).changed.mean() for budget in (0.05, 0.2, 2.0)]
    assert shares[0] < shares[1] < shares[2]


def test_nonsense_is_refused(predictions, attack):
    with pytest.raises(unalike.ConfigError, match="between 0 and 2"):
        guard(predictions[0], attack, 3.0)
    with pytest.raises(unalike.ConfigError, match="one is empty"):
        fit_attack(predictions[0], predictions[1][:0])
