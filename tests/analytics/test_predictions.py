"""Are deviations and intervals of predictions those of statistics programs, and of their definitions?"""

import numpy as np
import pytest

pytest.importorskip("formulaic")
import statsmodels.api as sm

from unalike.analytics import CoxModel, LinearRegression, LogisticRegression, MixedModel
from unalike.analytics.hierarchical import HM1, HM2, PenalizedRegression
from unalike.data.survival import signed_times
from unalike.errors import ConfigError, DataError


def made(seed=0, clients=5, rows=20):
    rng, tables = np.random.default_rng(seed), {}
    for k in range(clients):
        x = rng.normal(size=rows)
        y = (1 + rng.normal()) * x + rng.normal() + 0.5 * rng.normal(size=rows)
        time = signed_times(rng.exponential(np.exp(-x)), (rng.random(rows) < 0.8).astype(float))
        tables[f"c{k}"] = {"x": x, "y": y, "ill": (y > x).astype(float), "time": time}
    return tables


TABLES = made()
NEW = {"x": np.array([-1.0, 0.5, 3.0])}
ROWS = np.column_stack([np.ones(3), NEW["x"]])


def pooled(column):
    return np.concatenate([table[column] for table in TABLES.values()])


def test_intervals_of_least_squares_are_those_of_statsmodels():
    fitted = LinearRegression().fit(TABLES, "y ~ x")
    theirs = sm.OLS(pooled("y"), sm.add_constant(pooled("x"))).fit().get_prediction(ROWS)
    mean, std, ends = fitted.predict(NEW, return_std=True, interval=0.9)
    frame = theirs.summary_frame(alpha=0.1)
    np.testing.assert_allclose(mean, frame["mean"], rtol=1e-9)
    np.testing.assert_allclose(std, theirs.se_obs, rtol=1e-9)
    np.testing.assert_allclose(ends, frame[["obs_ci_lower", "obs_ci_upper"]], rtol=1e-9)


@pytest.mark.parametrize("client", ["c2", None])
def test_deviations_of_mixed_models_are_those_of_best_linear_unbiased_prediction(client):
    """With the covariance of all rows written out: the variance of universal kriging."""
    fitted = MixedModel().fit(TABLES, "y ~ x + (1 + x | client)")
    x = np.column_stack([np.ones(100), pooled("x")])
    owners, between = np.repeat(np.arange(5), 20), np.diag(fitted.variances)
    same = owners[:, None] == owners
    inverse = np.linalg.inv(same * (x @ between @ x.T) + fitted.scale * np.eye(100))
    information = np.linalg.inv(x.T @ inverse @ x)
    coefficients = information @ x.T @ inverse @ pooled("y")
    across = (ROWS @ between @ x.T) * (owners == (2 if client else -1))
    left = ROWS - across @ inverse @ x
    variance = np.diag(ROWS @ between @ ROWS.T - across @ inverse @ across.T + left @ information @ left.T)
    mean, std = fitted.predict(NEW, client, return_std=True)
    expected = ROWS @ coefficients + across @ inverse @ (pooled("y") - x @ coefficients)
    np.testing.assert_allclose(mean, expected, rtol=1e-6)
    np.testing.assert_allclose(std, np.sqrt(variance + fitted.scale), rtol=1e-6)


def test_the_deviation_of_a_log_hazard_is_its_standard_error():
    fitted = CoxModel().fit(TABLES, "time ~ x")
    risk, std = fitted.predict(NEW, return_std=True)
    np.testing.assert_allclose(risk, fitted.params[0] * NEW["x"])
    np.testing.assert_allclose(std, fitted.bse[0] * np.abs(NEW["x"]))


def test_a_device_that_nobody_has_met_is_a_draw_from_the_population():
    fitted = HM2().fit(TABLES, "y ~ x")
    mean, std, ends = fitted.predict(NEW, return_std=True, interval=0.8)
    np.testing.assert_allclose(mean, ROWS @ fitted.params)
    known = fitted.predict(NEW, "c1", return_std=True)[1]
    assert (std > known).all()
    assert (ends[:, 0] < mean).all() and (mean < ends[:, 1]).all()  # noqa: PT018
    np.testing.assert_allclose(fitted.predict(NEW, "c1"), fitted.predict(NEW, 1))
    alike = HM1(rounds=3).fit(TABLES, "y ~ x")
    np.testing.assert_allclose(alike.predict(NEW), ROWS @ alike.params.mean(axis=0))


def test_labels_are_those_of_the_response_and_its_probabilities():
    by_number = LogisticRegression().fit(TABLES, "ill ~ x")
    assert by_number.classes == (0.0, 1.0)
    labels = by_number.predict(NEW)
    np.testing.assert_array_equal(labels, by_number.predict_proba(NEW)[:, 1] > 0.5)
    words = {name: {**t, "ill": np.where(t["ill"] > 0, "yes", "no")} for name, t in TABLES.items()}
    by_word = LogisticRegression().fit(words, "ill ~ x")
    np.testing.assert_array_equal(by_word.predict(NEW), np.where(labels > 0, "yes", "no"))
    table = TABLES["c0"]
    assert by_word.score(table, words["c0"]["ill"]) == by_word.score(table, table["ill"])


@pytest.mark.parametrize(
    ("estimator", "formula", "asked", "words"),
    [
        (HM1(rounds=2), "y ~ x", lambda e: e.bse, "HM1 has no standard errors: .*HM2"),
        (HM1(rounds=2), "y ~ x", lambda e: e.predict(NEW, 0, interval=0.9), "HM1 has no intervals"),
        (PenalizedRegression("ridge"), "y ~ 0 + x", lambda e: e.predict(NEW), "name the client"),
        (LogisticRegression(), "ill ~ x", lambda e: e.predict(NEW, return_std=True), "predict_proba"),
    ],
)
def test_what_an_estimator_cannot_give_is_refused_with_the_reason(estimator, formula, asked, words):
    with pytest.raises(ConfigError, match=words):
        asked(estimator.fit(TABLES, formula))


def test_scores_need_responses_that_differ_and_rows_that_can_be_predicted():
    fitted = LinearRegression().fit(TABLES, "y ~ x")
    with pytest.raises(DataError, match="two different"):
        fitted.score(NEW, [1.0, 1.0, 1.0])
    with pytest.raises(DataError, match="no row that can be predicted"):
        fitted.score({"x": [np.nan]}, [1.0])
    with pytest.raises(DataError, match="as many responses"):
        fitted.score(NEW, [1.0])
