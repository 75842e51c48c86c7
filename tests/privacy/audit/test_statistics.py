"""Are rates, intervals and curves what their definitions say?"""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import roc_auc_score, roc_curve

from unalike.errors import ConfigError
from unalike.privacy.audit.statistics import advantage, auc, clopper_pearson, roc, tpr_at_fpr


@pytest.fixture
def scored():
    rng = np.random.default_rng(0)
    member = rng.random(400) < 0.5
    return np.round(rng.normal(size=400) + member, 1), member  # rounded, so that there are ties


@pytest.mark.parametrize(("hits", "count"), [(0, 7), (3, 7), (7, 7), (60, 400)])
def test_the_interval_is_where_the_tails_are_small(hits, count):
    rate = clopper_pearson(hits, count, 0.9)
    if hits:
        assert binom.sf(hits - 1, count, rate.low) == pytest.approx(0.05)
    if hits < count:
        assert binom.cdf(hits, count, rate.high) == pytest.approx(0.05)


def test_the_interval_covers_at_least_as_often_as_it_says():
    count, truth = 30, 0.3
    covered = [k for k in range(count + 1) if (r := clopper_pearson(k, count)).low <= truth <= r.high]
    assert binom.pmf(covered, count, truth).sum() >= 0.95


def test_no_rows_tell_nothing_and_too_many_hits_are_refused():
    assert clopper_pearson(0, 0)[1:] == (0.0, 1.0, 0)
    with pytest.raises(ConfigError, match="no rate"):
        clopper_pearson(3, 2)


def test_auc_and_roc_are_those_of_scikit_learn(scored):
    assert auc(*scored) == pytest.approx(roc_auc_score(scored[1], scored[0]))
    false, true = roc(*scored)
    expected = roc_curve(scored[1], scored[0], drop_intermediate=False)
    np.testing.assert_allclose(false, expected[0])
    np.testing.assert_allclose(true, expected[1])
    assert np.trapezoid(true, false) == pytest.approx(auc(*scored))


@pytest.mark.parametrize("fpr", [0.01, 0.1, 0.5, 1.0])
def test_the_rate_at_few_false_alarms_is_the_best_point_of_the_curve(scored, fpr):
    false, true = roc(*scored)
    assert tpr_at_fpr(*scored, fpr).value == pytest.approx(true[false <= fpr].max())


def test_a_rate_that_the_rows_cannot_show_is_not_reported(scored):
    assert tpr_at_fpr(*scored, 0.001) is None


def test_advantage_is_true_minus_false_positives_on_a_balanced_set():
    member = np.repeat([True, False], 50)
    guess = np.concatenate([np.arange(50) < 40, np.arange(50) < 10])
    accuracy = clopper_pearson(int((guess == member).sum()), 100)
    assert advantage(accuracy).value == pytest.approx(guess[:50].mean() - guess[50:].mean())
