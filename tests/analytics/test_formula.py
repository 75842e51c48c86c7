"""Do formulas mean what statisticians think, the same at every client, and is nothing run that was sent?"""

import numpy as np
import pytest

pytest.importorskip("formulaic")
import formulaic
import pandas
import statsmodels.formula.api as smf

from unalike.analytics import fit_analysis, formula
from unalike.analytics.formula import parse_formula
from unalike.analytics.formula_size import _terms
from unalike.analytics.model_matrix import Plan, design_by_formula, matrix_of
from unalike.data.tables import Table, tables_of
from unalike.errors import ConfigError, DataError, UnalikeError


def made(n=90, seed=3):
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "y": rng.normal(size=n),
            "age": rng.uniform(1, 90, n),
            "arm": rng.choice(list("abc"), n),
            "site": np.where(np.arange(n) < 5, "tiny", rng.choice(["n", "s"], n)),
            "kind": rng.integers(0, 3, n),
        }
    )


FORMULAS = [
    "y ~ age",
    "y ~ 0 + age",
    "y ~ age + arm",
    "y ~ age * arm",
    "y ~ C(kind) + age:arm",
    "log(age) ~ I(age ** 2) + sqrt(age) + arm",
    "y ~ scale(age) + center(age)",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_the_columns_of_all_clients_span_what_the_pooled_formula_does(text):
    frame = made()
    design, _, dropped = design_by_formula(tables_of(frame, "site"), text)
    assert not dropped
    named = text.replace("log(", "np.log(").replace("sqrt(", "np.sqrt(")
    theirs = smf.ols(named, frame).fit()
    x, y = design.federation.train.x, design.federation.train.y
    ours, *_ = np.linalg.lstsq(x, y, rcond=None)
    order = np.argsort(frame["site"].to_numpy(), kind="stable")
    np.testing.assert_allclose(x @ ours, theirs.fittedvalues.to_numpy()[order], rtol=1e-7, atol=1e-9)
    assert len(design.terms) == len(theirs.params)


def test_a_word_that_only_one_client_has_gets_its_column_everywhere():
    tables = tables_of({"a": {"y": [1, 2], "sex": ["f", "m"]}, "b": {"y": [1, 3], "sex": ["x", "x"]}})
    design, plan, _ = design_by_formula(tables, "y ~ sex")
    assert plan.words["sex"] == ("f", "m", "x")
    assert design.client(0)[0].shape[1] == design.client(1)[0].shape[1] == 3


def test_gaps_and_words_that_nobody_agreed_on_are_dropped_and_counted_or_refused():
    tables = tables_of(
        {
            "a": {"y": [1, 2, 3, np.nan], "sex": ["f", "", "m", "m"]},
            "b": {"y": [1, 3, 4, 5], "sex": ["f", "m", "m", "rare"]},
        }
    )
    _, _, dropped = design_by_formula(tables, "y ~ sex", minimum_cell_count=1)
    assert dropped == {"a": 2}
    _, _, dropped = design_by_formula(tables, "y ~ 1", minimum_cell_count=2)
    assert dropped == {"a": 1}
    held_back = Plan("y ~ sex", {"sex": ("f", "m")}, {}, ("Intercept", "sex[T.m]"))
    assert matrix_of(tables["b"], held_back).dropped == 1
    with pytest.raises(DataError, match="client 'a': 2 rows have missing values"):
        design_by_formula(tables, "y ~ sex", missing="refuse")


def test_a_response_of_two_words_is_no_and_yes():
    tables = tables_of({"a": {"ill": ["no", "yes", "yes"], "x": [1, 2, 3]}, "b": {"ill": ["no"], "x": [1]}})
    design, _, _ = design_by_formula(tables, "ill ~ x")
    assert design.federation.train.y.tolist() == [0, 1, 1, 0]


def test_what_differs_between_clients_is_named_by_its_terms():
    tables = tables_of(made(), "site")
    design, _, _ = design_by_formula(tables, "y ~ age + arm + (1 + age | client)")
    assert design.varying == ("Intercept", "age")
    with pytest.raises(ConfigError, match="differs between clients"):
        design_by_formula(tables, "y ~ arm + (age | client)")


@pytest.mark.parametrize(
    ("text", "fixed", "varying"),
    [
        ("y ~ age + (1 | client)", "y ~ age", "1"),
        ("y ~ (1 | client)", "y ~ 1", "1"),
        ("y ~ (1 + scale(age) || client) + scale(age)", "y ~  scale(age)", "1 + scale(age)"),
        ("y ~ age + ( | client) + arm", "y ~ age + arm", "1"),
    ],
)
def test_bars_are_taken_out_wherever_they_stand(text, fixed, varying):
    found = parse_formula(text)
    assert (found.fixed, found.varying) == (fixed, varying)


def test_a_plan_survives_being_written():
    tables = tables_of(made(), "site")
    _, plan, _ = design_by_formula(tables, "y ~ scale(age) + arm")
    again = Plan.read(plan.write())
    ours, theirs = (matrix_of(tables["n"], one).x for one in (plan, again))
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y ~ age +", "position 9"),
        ("y ~ (age", "position 5"),
        ("y ~ age | client", "position 9"),
        ("y ~ age + (1 | hospital)", "clients only"),
        ("y ~ (1 | client) + (age | client)", "only one part"),
        ("age", "RESPONSE ~ TERMS"),
        ("~ age", "RESPONSE ~ TERMS"),
        ("y + age ~ age", "one response"),
        ("y ~ __import__('os').system('x')", "cannot be used"),
        ("y ~ I(9 ** 9 ** 9 ** 9)", "cannot be used"),
        ("y ~ os.system('x')", "cannot be used"),
        ("y ~ {[c for c in ().__class__.__mro__]}", "cannot be used"),
        ("y ~ eval('1')", "cannot be used"),
        ("y ~ poly(age, 2)", "cannot be used"),
        ("y ~ scale(age + 1)", "name of a column"),
        ("y ~ " + "age + " * 1000, "at most"),
        ("y ~ I(...)", "cannot be used"),
        ("y ~ .", "'.' for all other columns cannot be used; name the columns"),
        ("y ~ . - age", "'.' for all other columns"),
        ("y ~ I(b'x')", "cannot be used"),
        ("y ~ I('x'*3)", "cannot be used"),
        ("y ~ I([x, x])", "cannot be used"),
        ("y ~ I(True)", "cannot be used"),
        ("y ~ I('a'*3500000000)", "cannot be used"),
        ("y ~ C(x, levels=[0]*400000000)", "cannot be used"),
        ("y ~ C(x, contrasts='..')", "cannot be used"),
        ("y ~ log(x, out=x)", "cannot be used"),
        ("C(y) ~ x", "write the name of its column alone"),
        ("y ~ " + "*".join(f"I(x+{i})" for i in range(22)), "more than 2,000 terms"),
        ("y ~ (x+y)**100000000", "more than 2,000 terms"),
        ("y ~ x^100000000", "more than 2,000 terms"),
        ("y ~ (a+b)**12*(c+d)", "more than 2,000 terms"),
        ("y ~ 1 + (" + "*".join(f"I(x+{i})" for i in range(22)) + " | client)", "more than 2,000 terms"),
    ],
)
def test_mistakes_and_code_are_refused_in_one_sentence_before_anything_is_computed(text, words):
    with pytest.raises(ConfigError, match=words) as error:
        parse_formula(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["y ~ I()", "y ~ log(age, age, age, age)", "y ~ I(age, age)"])
def test_functions_of_too_much_or_too_little_are_refused(text):
    with pytest.raises(ConfigError, match="cannot be computed"):
        design_by_formula(tables_of(made(), "site"), text)


@pytest.mark.parametrize(
    "text", ["y ~ (a + b + c) ** 3", "y ~ a * b * c * d / e", "y ~ a:b - 1", "y ~ a ** 2"]
)
def test_the_count_of_terms_is_never_below_their_number(text):
    tree = formulaic.parser.DefaultFormulaParser().get_ast(text)
    assert _terms(tree.args[1]) >= len(formulaic.Formula(text).rhs)
    parse_formula(text)


def test_levels_are_the_words_that_a_term_may_have():
    assert parse_formula("y ~ C(sex, levels=['f', 'm'])").factors == {"sex"}


def test_columns_that_are_not_there_or_of_two_kinds_are_refused():
    tables = tables_of(made(), "site")
    with pytest.raises(UnalikeError, match="wage"):
        design_by_formula(tables, "y ~ wage")
    with pytest.raises(DataError, match="not finite"):
        matrix_of(Table.of({"y": [1.0], "x": [0.0]}), Plan("y ~ log(x)", {}, {}, ("Intercept", "log(x)")))
    with pytest.raises(DataError, match="a factor needs two"):
        design_by_formula(tables_of({"a": {"y": [1, 2], "sex": ["f", "f"]}}), "y ~ sex")
    with pytest.raises(DataError, match="cannot be read"):
        Plan.read({"formula": "y ~ x"})


def test_a_fit_reads_its_formula_once(monkeypatch):
    read, text = [], "outcome ~ dose + C(arm)"
    monkeypatch.setattr(formula, "check_size", lambda tree, asked: read.append(asked))
    arm, dose = np.tile([1.0, 2.0], 5), np.arange(10.0)
    noise = np.sin(7 * dose)
    tables = {
        name: {"outcome": noise + shift * arm, "dose": dose, "arm": arm}
        for name, shift in (("a", 1), ("b", 2))
    }
    fit_analysis(tables, text)
    assert read == [text]
