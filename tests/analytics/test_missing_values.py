"""What becomes of rows with a missing value, of a client without any, and of new rows?"""

import numpy as np
import pytest

pytest.importorskip("formulaic")

from unalike.analytics.linear.linear_regression import LinearRegression
from unalike.analytics.linear.logistic_regression import LogisticRegression
from unalike.analytics.survival.cox_regression import CoxModel
from unalike.errors import DataError, UnalikeError


def made(n, seed):
    rng = np.random.default_rng(seed)
    x, sex = rng.normal(size=n), rng.choice(["f", "m"], n)
    ill = np.where(rng.random(n) < 1 / (1 + np.exp(-x)), "yes", "no")
    time = rng.exponential(np.exp(-x))
    return {"x": x, "sex": sex, "ill": ill, "y": 2 * x + (sex == "m") + rng.normal(size=n), "time": time}


TABLES = {"basel": made(80, 0), "bern": made(60, 1), "chur": {**made(40, 2), "x": np.full(40, np.nan)}}


@pytest.mark.parametrize(
    ("model", "formula"),
    [(LogisticRegression, "ill ~ x + sex"), (LinearRegression, "y ~ x * sex")],
    ids=["logistic", "linear"],
)
def test_a_client_that_never_measured_a_column_is_named_and_changes_nothing(model, formula):
    fitted = model().fit(TABLES, formula)
    without = model().fit({name: TABLES[name] for name in ("basel", "bern")}, formula)
    np.testing.assert_array_equal(fitted.params, without.params)
    for text in (str(fitted.summary()), fitted.summary().as_latex(), fitted.summary().as_html()):
        assert "Taking part: basel, bern. NOT taking part: chur (column" in text
        assert "has no value in any row" in text
    with pytest.raises(DataError, match="no client has a row without missing values"):
        model().fit({"chur": TABLES["chur"]}, formula)


def test_there_is_one_prediction_per_row_and_none_where_a_value_is_missing():
    new = {"x": [0.5, np.nan, 0.5, 1.0], "sex": ["f", "f", "neither", "m"]}
    complete = {"x": [0.5, 1.0], "sex": ["f", "m"]}
    for model, formula in ((LinearRegression, "y ~ x * sex"), (LogisticRegression, "ill ~ x + sex")):
        fitted = model().fit(TABLES, formula)
        assert fitted.predict(new).shape == (4,)
        predict = fitted.predict_proba if hasattr(fitted, "classes") else fitted.predict
        assert np.isnan(predict(new)[[1, 2]]).all()
        np.testing.assert_allclose(predict(new)[[0, 3]], predict(complete))
    assert fitted.predict(new).tolist()[1:3] == ["", ""]
    mean, std = LinearRegression().fit(TABLES, "y ~ x * sex").predict(new, return_std=True)
    assert (np.isnan(mean) == np.isnan(std)).all()


def test_new_rows_need_no_response_and_all_other_columns():
    logistic = LogisticRegression().fit(TABLES, "ill ~ x + sex")
    new = {"x": [0.0, 1.0], "sex": ["f", "m"]}
    np.testing.assert_array_equal(logistic.predict(new), logistic.predict({**new, "ill": ["no", "yes"]}))
    transformed = LinearRegression().fit(TABLES, "exp(y) ~ x")
    assert transformed.predict({"x": [1.0]}).shape == (1,)
    with pytest.raises(DataError, match="no column 'sex'"):
        logistic.predict({"x": [0.0]})


# Events of survival times that are words --------------------------------------------------------------------


def test_words_are_events_as_they_are_responses_and_the_summary_says_which():
    tables = {
        name: {**TABLES[name], "one": (TABLES[name]["ill"] == "yes") * 1.0} for name in ("basel", "bern")
    }
    by_number = CoxModel(event="one").fit(tables, "time ~ x")
    by_word = CoxModel(event="ill").fit(tables, "time ~ x")
    named, other = (CoxModel(event=f"ill={word}").fit(tables, "time ~ x") for word in ("yes", "no"))
    for fitted in (by_word, named):
        np.testing.assert_array_equal(fitted.params, by_number.params)
        assert "ill = yes" in str(fitted.summary())
    assert "ill = no" in str(other.summary())
    assert other.events == by_word.nobs - by_word.events


@pytest.mark.parametrize(
    ("event", "words"),
    [("sex=x", "unknown word"), ("nothing", "no column 'nothing'"), ("arm", "has 3 words")],
)
def test_events_that_cannot_be_told_are_refused_by_name(event, words):
    tables = {"a": {**made(30, 0), "arm": np.array(["a", "b", "c"] * 10)}}
    with pytest.raises(UnalikeError, match=words):
        CoxModel(event=event).fit(tables, "time ~ x")
