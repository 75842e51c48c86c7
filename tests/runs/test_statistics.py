"""Intervals and tests agree with closed forms and SciPy; the worst-off clients are who they should be."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from unalike.errors import RunError
from unalike.runs import bottom_decile, higher_is_better, mean_interval, paired_test, summarize_clients


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_interval_is_students(level):
    sample = np.random.default_rng(0).normal(size=7)
    mean, half_width = mean_interval(sample, level)
    low, high = stats.t.interval(level, 6, loc=sample.mean(), scale=stats.sem(sample))
    np.testing.assert_allclose([mean - half_width, mean + half_width], [low, high], rtol=1e-12)


def test_two_values_have_the_cauchy_interval():
    # With one degree of freedom the 0.975 quantile is tan(0.475 pi), and the standard error is half the gap.
    assert mean_interval([0.0, 2.0])[1] == pytest.approx(np.tan(0.475 * np.pi))


def test_the_interval_covers_as_often_as_it_says():
    samples = np.random.default_rng(1).normal(size=(2000, 5))
    intervals = np.array([mean_interval(sample) for sample in samples])
    covered = np.mean(np.abs(intervals[:, 0]) <= intervals[:, 1])
    assert abs(covered - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 2000)


def test_one_value_has_no_interval_and_a_failed_run_does_not_vanish():
    assert mean_interval([3.0])[0] == 3.0
    assert np.isnan(mean_interval([3.0])[1])
    assert np.isnan(mean_interval([3.0, np.nan])).all()
    assert np.isnan(mean_interval([])).all()


@pytest.mark.parametrize("n", [3, 8, 12, 20])
def test_paired_tests_agree_with_scipy(n):
    rng = np.random.default_rng(n)
    a = rng.normal(size=n)
    b = a + rng.normal(0.3, 0.5, size=n)
    answer = paired_test(a, b)
    assert answer["p_t"] == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert answer["difference"] == pytest.approx(np.mean(a - b))
    if n <= 12:
        gap = lambda x, y, axis: np.mean(x - y, axis=axis)  # noqa: E731
        oracle = stats.permutation_test((a, b), gap, n_resamples=10_000, permutation_type="samples")
        assert answer["p_free"] == pytest.approx(oracle.pvalue)
    else:
        assert answer["p_free"] == pytest.approx(stats.wilcoxon(a - b).pvalue)


def test_equal_differences_have_no_t_test_and_are_not_called_certain():
    a = np.array([0.7, 0.8, 0.9])
    assert np.isnan(paired_test(a, a - 0.1)["p_t"])  # also where rounding makes them differ in the last bit
    assert paired_test(a, a)["p_t"] == 1.0


def test_a_consistent_sign_has_the_smallest_possible_p_value():
    for n in range(1, 9):
        assert paired_test(np.arange(1.0, n + 1), np.zeros(n))["p_free"] == 2.0 ** (1 - n)


def test_sign_flips_are_uniform_when_nothing_differs():
    # Over all sign patterns of fixed magnitudes the exact p-value is at most alpha in at most alpha of them.
    magnitudes = np.array([0.3, 1.0, 1.7, 2.2, 0.9])
    p = [paired_test(magnitudes * signs, np.zeros(5))["p_free"] for signs in product((-1, 1), repeat=5)]
    assert all(np.mean(np.array(p) <= alpha) <= alpha + 1e-12 for alpha in np.linspace(0, 1, 33))


def test_equal_sides_do_not_differ():
    answer = paired_test([0.5, 0.6], [0.5, 0.6])
    assert (answer["p_t"], answer["p_free"], answer["difference"]) == (1.0, 1.0, 0.0)
    assert paired_test(np.ones(20), np.ones(20))["p_free"] == 1.0


def test_exchanging_the_sides_only_changes_the_sign():
    a, b = np.random.default_rng(2).normal(size=(2, 6))
    one, other = paired_test(a, b), paired_test(b, a)
    assert one["difference"] == -other["difference"]
    assert (one["p_t"], one["p_free"]) == (other["p_t"], other["p_free"])


def test_strange_samples_are_answered_or_refused():
    assert np.isnan(paired_test([1.0], [2.0])["p_t"])
    assert paired_test([1.0], [2.0])["p_free"] == 1.0
    assert np.isnan(paired_test([1.0, np.nan], [2.0, 1.0])["p_free"])
    with pytest.raises(RunError, match="as many values"):
        paired_test([1.0, 2.0], [1.0])


@pytest.mark.parametrize(("n", "rank"), [(1, 1), (9, 1), (10, 1), (11, 1), (20, 2), (21, 2), (100, 10)])
def test_the_bottom_decile_is_a_client(n, rank):
    values = np.random.default_rng(n).permutation(n).astype(float)
    assert bottom_decile(values) == rank - 1
    assert bottom_decile(values, higher_is_better=False) == n - rank


def test_a_summary_is_what_it_says():
    values, weights = np.array([0.2, 0.9, np.nan, 0.7, 0.0]), np.array([1.0, 2.0, 5.0, 1.0, 0.0])
    summary = summarize_clients(values, weights)  # the third was not measured and the last has no data
    assert summary["mean"] == pytest.approx(0.6)
    assert summary["weighted_mean"] == pytest.approx((0.2 + 1.8 + 0.7) / 4)
    assert summary["worst"] == summary["bottom_decile"] == 0.2
    assert summary["std"] == pytest.approx(np.std([0.2, 0.9, 0.7]))
    assert summarize_clients(values, weights, higher_is_better=False)["worst"] == 0.9


def test_equal_weights_weigh_nothing():
    values = np.random.default_rng(3).random(30)
    summary = summarize_clients(values, np.full(30, 7.0))
    assert summary["mean"] == pytest.approx(summary["weighted_mean"])
    assert summary == pytest.approx(summarize_clients(values))


def test_nobody_measured_is_nan():
    assert all(np.isnan(value) for value in summarize_clients([np.nan], [1.0]).values())
    assert np.isnan(bottom_decile([]))


def test_directions():
    assert [higher_is_better(m) for m in ("test_accuracy", "test_loss", "bytes_up")] == [True, False, False]
    better = (
        "test_f1",
        "unseen_auc",
        "error_free_rate",
        "lossless",
        "test_interval_coverage",
        "clients_mean",
    )
    worse = ("mean_model_test_rmse", "validation_nlpd", "unseen_calibration_error", "error_rate", "rejected")
    assert all(higher_is_better(name) for name in better)
    assert not any(higher_is_better(name) for name in worse)
