"""Are the signals of rows those of their formulas?"""

import numpy as np
import pytest

from unalike.privacy.audit.signals import class_signals, value_signals


@pytest.fixture
def given():
    rng = np.random.default_rng(1)
    return 2 * rng.normal(size=(50, 4)), rng.integers(0, 4, 50)


def test_every_signal_is_its_formula(given):
    logits, labels = given
    found = class_signals(logits, labels)
    for i, (row, y) in enumerate(zip(logits, labels, strict=True)):
        p = np.exp(row) / np.exp(row).sum()
        rest = [k for k in range(4) if k != y]
        modified = -(1 - p[y]) * np.log(p[y]) - sum(p[k] * np.log(1 - p[k]) for k in rest)
        assert found.scores["loss"][i] == pytest.approx(np.log(p[y]))
        assert found.scores["confidence"][i] == pytest.approx(np.log(p.max()))
        assert found.scores["entropy"][i] == pytest.approx((p * np.log(p)).sum())
        assert found.scores["modified entropy"][i] == pytest.approx(-modified)
        assert found.scaled[i] == pytest.approx(np.log(p[y] / (1 - p[y])))
        assert found.correct[i] == (p.argmax() == y)


def test_a_model_that_is_certain_gives_finite_numbers():
    found = class_signals(np.array([[900.0, 0.0], [40.0, 0.0], [0.0, 900.0]]), np.array([0, 0, 0]))
    assert np.isfinite([*found.scores.values()]).all()
    assert np.isfinite(found.scaled).all()
    assert found.scaled[1] == pytest.approx(40.0)  # where 1 - p has no digits left


def test_a_regression_has_its_loss():
    found = value_signals(np.array([0.0, 1.0]))
    assert list(found.scores) == ["loss"]
    assert found.correct is None
    assert found.scaled[0] > found.scaled[1]


def test_signals_of_some_rows_are_taken(given):
    found = class_signals(*given)
    some = found.take(np.array([3, 1]))
    np.testing.assert_array_equal(some.scaled, found.scaled[[3, 1]])
    np.testing.assert_array_equal(some.scores["loss"], found.scores["loss"][[3, 1]])
