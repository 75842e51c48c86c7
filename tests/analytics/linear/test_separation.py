"""What is said of coefficients that have no maximum likelihood estimate, and are the others right?"""

import warnings

import numpy as np
import pytest

pytest.importorskip("formulaic")

from unalike.analytics.analyses import choose_analysis, fit_analysis
from unalike.analytics.hierarchical.hm1 import HM1
from unalike.analytics.hierarchical.hm2 import HM2
from unalike.analytics.linear.linear_regression import LinearRegression
from unalike.analytics.linear.logistic_regression import LogisticRegression
from unalike.analytics.survival.cox_regression import CoxModel
from unalike.errors import ConfigError


def hospitals(seed=0, empty=True):
    """Three hospitals; of the women with typical angina, nobody is ill."""
    rng, tables = np.random.default_rng(seed), {}
    for name, n in (("basel", 300), ("bern", 290), ("chur", 120)):
        sex = rng.choice(["female", "male"], n, p=[0.3, 0.7])
        pain = rng.choice(["asymptomatic", "atypical", "typical"], n, p=[0.6, 0.3, 0.1])
        age = rng.uniform(30, 75, n)
        odds = -4 + 0.06 * age + (sex == "male") - 1.2 * (pain == "typical") - 0.8 * (pain == "atypical")
        ill = rng.random(n) < 1 / (1 + np.exp(-odds))
        if empty:
            ill[(sex == "female") & (pain == "typical")] = False
        words = np.where(ill, "ill", "healthy")
        tables[name] = {
            "age": age,
            "sex": sex,
            "pain": pain,
            "diagnosis": words,
            "time": rng.exponential(1, n),
        }
    return tables


FORMULA = "diagnosis ~ age + sex * pain"
APART = ["pain[T.typical]", "sex[T.male]:pain[T.typical]"]


def test_an_empty_cell_is_separation_and_the_other_estimates_are_those_of_statsmodels():
    smf, pandas = pytest.importorskip("statsmodels.formula.api"), pytest.importorskip("pandas")
    fitted = LogisticRegression().fit(hospitals(), FORMULA)
    assert fitted.separated == {APART[0]: "-infinity", APART[1]: "+infinity"}
    assert not fitted.identified_.aliased.size
    pooled = pandas.concat([pandas.DataFrame(table) for table in hospitals().values()])
    pooled["y"] = (pooled.diagnosis == "ill").astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it has not converged
        theirs = smf.logit("y ~ age + sex * pain", pooled).fit(method="newton", maxiter=25, disp=0)
    assert abs(fitted.llf - theirs.llf) < 1e-6
    known = [term for term in fitted.terms if term not in APART]
    for ours, other in (
        (fitted.params, theirs.params),
        (fitted.bse, theirs.bse),
        (fitted.pvalues, theirs.pvalues),
    ):
        by_term = dict(zip(fitted.terms, ours, strict=True))
        np.testing.assert_allclose([by_term[t] for t in known], [other[t] for t in known], rtol=1e-5)
        assert all(np.isnan(by_term[term]) for term in APART)
    assert np.isnan(fitted.conf_int()[list(fitted.terms).index(APART[0])]).all()
    # What is predicted is what the likelihood wants, also of the cell that is empty.
    new = {"age": [50.0, 50.0], "sex": ["female", "male"], "pain": ["typical", "typical"]}
    ours, other = fitted.predict_proba(new)[:, 1], theirs.predict(pandas.DataFrame(new))
    np.testing.assert_allclose(ours, other, atol=1e-6)


def test_a_summary_names_the_terms_and_gives_them_no_p_value():
    text = str(LogisticRegression().fit(hospitals(), FORMULA).summary())
    assert "The estimate does not exist: pain[T.typical] (towards -infinity)" in text
    line = next(line for line in text.splitlines() if line.startswith("pain[T.typical]"))
    assert line.split() == ["pain[T.typical]", "does", "not", "exist"]
    assert "Explained by the columns before them" not in text
    assert "event" in text
    assert "diagnosis = ill" in text


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_nothing_is_separated_where_estimates_exist(ridge):
    tables = hospitals(empty=False)
    fitted = LogisticRegression(ridge=ridge).fit(tables, FORMULA)
    assert not fitted.separated
    assert np.isfinite(fitted.pvalues).all()
    assert not LogisticRegression(ridge=1.0).fit(hospitals(), FORMULA).separated


def test_a_row_far_off_is_no_separation():
    rng = np.random.default_rng(3)
    x = np.append(rng.normal(size=400), 1e5)
    y = np.append(rng.random(400) < 1 / (1 + np.exp(-x[:-1])), True).astype(float)
    fitted = LogisticRegression().fit({"a": {"x": x, "y": y}}, "y ~ x")
    assert not fitted.separated
    assert 0.7 < fitted.params[1] < 1.5


def test_collinear_columns_are_aliased_also_beside_separation():
    tables = {name: {**table, "months": 12 * table["age"]} for name, table in hospitals().items()}
    fitted = LogisticRegression().fit(tables, "diagnosis ~ age + months + sex * pain")
    assert [fitted.terms[j] for j in fitted.identified_.aliased] == ["months"]
    assert list(fitted.separated) == APART
    alone = LogisticRegression().fit(hospitals(), FORMULA)
    np.testing.assert_allclose(
        np.delete(fitted.params, list(fitted.terms).index("months")), alone.params, rtol=1e-6
    )


def test_a_hazard_without_end_is_named_too():
    tables = {
        name: {**table, "event": ((table["pain"] != "typical") & (table["time"] < 2)).astype(float)}
        for name, table in hospitals().items()
    }
    fitted = CoxModel(event="event").fit(tables, "time ~ age + pain")
    assert fitted.separated == {"pain[T.typical]": "-infinity"}
    assert np.isfinite(fitted.pvalues[[0, 1]]).all()


# Random effects that a model does not have ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["logistic", "linear", "cox", "hm1", "hm2"])
def test_bars_are_refused_where_the_model_has_no_random_effects(name):
    with pytest.raises(ConfigError, match="random effects of clients"):
        choose_analysis(f"{name}: diagnosis ~ age + (1 | client)")
    with pytest.raises(ConfigError, match="random effects of clients"):
        fit_analysis(hospitals(), "diagnosis ~ age + (1 | client)", name)


@pytest.mark.parametrize("model", [LogisticRegression(), LinearRegression(), CoxModel(), HM1(), HM2()])
def test_bars_are_refused_in_python_too(model):
    with pytest.raises(ConfigError, match="random effects of clients"):
        model.fit(hospitals(), "time ~ age + (1 | client)")
