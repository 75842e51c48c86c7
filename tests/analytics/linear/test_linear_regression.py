"""Are linear and logistic regression over clients those of the pooled rows, to eight digits and more?"""

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.linear_model import Ridge

from unalike.analytics.design import Design
from unalike.analytics.linear.linear_regression import LinearRegression
from unalike.analytics.linear.logistic_regression import LogisticRegression
from unalike.data import Federation, Split
from unalike.errors import ConfigError, DataError, UnalikeError


def made(n=300, d=4, clients=6, seed=0, binary=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * [1, 10, 0.1, 3][:d] + [0, 5, 1, 100][:d]
    score = x @ [0.5, -0.1, 2.0, 0.02][:d] - 2
    y = (
        (rng.uniform(size=n) < 1 / (1 + np.exp(-score))).astype(float)
        if binary
        else score + rng.normal(size=n)
    )
    return x, y, np.sort(rng.integers(0, clients, n))


def design(x, y, owners, intercept=True):
    sizes = np.bincount(owners)
    split = Split(x, y, np.concatenate([[0], np.cumsum(sizes)]))
    none = Split(x[:0], y[:0], np.zeros(len(sizes) + 1, np.int64))
    return Design.of(Federation(split, none, none, None), intercept)


def close(ours, theirs, digits=1e-8):
    np.testing.assert_allclose(ours, theirs, rtol=digits, atol=digits * np.abs(theirs).max())


@pytest.mark.parametrize("clients", [1, 6])
def test_least_squares_is_that_of_the_pooled_rows_with_its_errors_and_tests(clients):
    x, y, owners = made(clients=clients)
    ours, theirs = LinearRegression().fit(design(x, y, owners)), sm.OLS(y, sm.add_constant(x)).fit()
    close(ours.params, theirs.params)
    close(ours.bse, theirs.bse)
    close(ours.pvalues, theirs.pvalues)
    close(ours.conf_int(0.9), theirs.conf_int(0.1))
    close([ours.rsquared, ours.scale, ours.df_resid], [theirs.rsquared, theirs.scale, theirs.df_resid])
    new = sm.add_constant(x[:5])
    mean, std = ours.predict(new, return_std=True)
    frame = theirs.get_prediction(new)
    close(mean, frame.predicted_mean)
    close(std, np.sqrt(frame.var_pred_mean + theirs.scale))
    assert ours.run.rounds <= 3


def test_ridge_is_that_of_the_pooled_rows_and_leaves_the_intercept_alone():
    x, y, owners = made()
    ours = LinearRegression(ridge=3.0).fit(design(x, y, owners))
    theirs = Ridge(alpha=3.0, solver="cholesky").fit(x, y)
    close(ours.params, [theirs.intercept_, *theirs.coef_])
    assert ours.score(sm.add_constant(x), y) == pytest.approx(theirs.score(x, y))


@pytest.mark.parametrize("model", [LinearRegression, LogisticRegression])
def test_a_column_that_others_explain_is_aliased_and_the_fit_is_that_without_it(model):
    x, y, owners = made(binary=model is LogisticRegression)
    both = np.column_stack([x[:, :2], x[:, 0] + 2 * x[:, 1], np.ones(len(x)), x[:, 2:]])
    ours, without = model().fit(design(both, y, owners)), model().fit(design(x, y, owners))
    assert ours.identified_.aliased.tolist() == [3, 4]
    close(ours.params[[0, 1, 2, 5, 6]], without.params, 1e-6)
    close(ours.bse[[0, 1, 2, 5, 6]], without.bse, 1e-6)
    assert "aliased" in str(ours.summary())


def test_engines_and_ways_of_dealing_do_not_matter():
    x, y, owners = made()
    fits = [LinearRegression().fit(design(x, y, owners), engine=engine) for engine in ("local", "debug")]
    fits.append(LinearRegression().fit(design(x, y, np.sort(np.arange(len(y)) % 40))))
    for other in fits[1:]:
        close(other.params, fits[0].params, 1e-10)


def test_summaries_say_what_statisticians_look_for():
    x, y, owners = made()
    fitted = LinearRegression().fit(design(x, y, owners))
    text, page, paper = (str(fitted.summary()), fitted.summary().as_html(), fitted.summary().as_latex())
    for words in ("R squared", "std. error", "95 % from", "clients", "bytes from clients", "x4"):
        assert words in text
        assert words in page or words in ("95 % from",)
    assert "\\begin{tabular}" in paper


def test_fewer_rows_than_columns_and_other_bad_input():
    x, y, owners = made(n=3, clients=2)
    few = LinearRegression().fit(design(x, y, owners))
    assert np.isnan(few.bse[few.identified_.kept]).all()
    assert few.df_resid == 0
    with pytest.raises(DataError, match="nothing to explain"):
        LinearRegression().fit(design(x, np.ones(3), owners))
    with pytest.raises(DataError, match="must be 0 or 1"):
        LogisticRegression().fit(design(x, y, owners))
    with pytest.raises(ConfigError, match="negative"):
        LinearRegression(ridge=-1).fit(design(x, y, owners))
    with pytest.raises(DataError, match="client '1' has 1 rows with missing values"):
        LinearRegression().fit(
            design(np.where(np.arange(3)[:, None] == 2, np.nan, x), y, np.array([0, 1, 1]))
        )
    x, y, owners = made()
    with pytest.raises(DataError, match="ridge"):
        LogisticRegression().fit(design(x, (x[:, 0] > 0).astype(float), owners))
    with pytest.raises(UnalikeError, match="ridgy"):
        LinearRegression().set_params(ridgy=2)
    assert LinearRegression().set_params(ridge=2.0).get_params()["ridge"] == 2.0
