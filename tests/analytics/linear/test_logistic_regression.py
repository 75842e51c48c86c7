"""Is logistic regression over clients that of the pooled rows, to eight digits and more?"""

import numpy as np
import statsmodels.api as sm

from unalike.analytics.linear.logistic_regression import LogisticRegression

from .test_linear_regression import close, design, made


def test_logistic_regression_is_that_of_the_pooled_rows():
    x, y, owners = made(binary=True)
    ours = LogisticRegression().fit(design(x, y, owners))
    theirs = sm.Logit(y, sm.add_constant(x)).fit(disp=0, tol=1e-14)
    close(ours.params, theirs.params)
    close(ours.bse, theirs.bse)
    close(ours.pvalues, theirs.pvalues)
    close([ours.llf, ours.llnull], [theirs.llf, theirs.llnull])
    close(ours.predict_proba(sm.add_constant(x))[:, 1], theirs.predict())


def test_a_fit_in_a_folder_resumes_to_the_same_numbers(tmp_path):
    x, y, owners = made(binary=True)
    rows = design(x, y, owners)
    whole = LogisticRegression().fit(rows, out=tmp_path / "run")
    again = LogisticRegression().fit(rows, out=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(whole.params, again.params)
