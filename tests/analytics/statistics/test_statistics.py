"""Are federated statistics those of the pooled rows, and does nothing small leave a node?"""

import numpy as np
import pytest
import scipy.stats
from sklearn.decomposition import PCA

from unalike.analytics.statistics import (
    LocalNodes,
    Question,
    ask_moments,
    ask_products,
    ask_quantiles,
    cross_table,
    describe,
    histogram,
    principal_components,
)
from unalike.data.tables import Table, tables_of
from unalike.errors import UnalikeError

RNG = np.random.default_rng(5)
SIZES = (40, 7, 133)


def made(gaps=True):
    tables = {}
    for i, n in enumerate(SIZES):
        age = 1e6 + RNG.normal(i, 1 + i, n)
        dose = 0.5 * (age - 1e6) + RNG.standard_exponential(n)
        if gaps:
            dose[::9] = np.nan
        sex = RNG.choice(["f", "m"], n)
        tables[f"site{i}"] = Table.of(
            {"age": age, "dose": dose, "sex": sex, "arm": RNG.choice(list("abc"), n)}
        )
    return tables


TABLES = made()
POOLED = {name: np.concatenate([t[name] for t in TABLES.values()]) for name in TABLES["site0"].names}


def test_means_and_deviations_are_those_of_the_pooled_rows_however_far_from_zero():
    found = ask_moments(LocalNodes(TABLES), ["age", "dose"])
    for j, name in enumerate(("age", "dose")):
        rows = POOLED[name][~np.isnan(POOLED[name])]
        assert found.count[j] == len(rows)
        np.testing.assert_allclose(found.mean[j], rows.mean(), rtol=1e-14)
        np.testing.assert_allclose(found.std[j], rows.std(ddof=1), rtol=1e-9)


def test_correlations_and_components_are_those_of_the_pooled_complete_rows():
    rows = np.column_stack([POOLED["age"] - 1e6, POOLED["dose"]])
    rows = rows[~np.isnan(rows).any(axis=1)]
    products = ask_products(LocalNodes(TABLES), ["age", "dose"])
    np.testing.assert_allclose(products.correlation, np.corrcoef(rows.T), atol=1e-9)
    np.testing.assert_allclose(products.covariance, np.cov(rows.T), rtol=1e-8)
    ours = principal_components(LocalNodes(TABLES), ["age", "dose"])
    theirs = PCA().fit((rows - rows.mean(axis=0)) / rows.std(axis=0))
    np.testing.assert_allclose(ours.shares, theirs.explained_variance_ratio_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(ours.loadings.T), np.abs(theirs.components_), atol=1e-8)


def test_quantiles_are_those_of_the_pooled_rows():
    nodes = LocalNodes(TABLES)
    found = ask_quantiles(nodes, ask_moments(nodes, ["age", "dose"]), (0.01, 0.25, 0.5, 0.9))
    for name in ("age", "dose"):
        rows = POOLED[name][~np.isnan(POOLED[name])]
        for q in found[name]:
            true = np.quantile(rows, q.probability, method="inverted_cdf")
            assert q.low <= true <= q.high
            assert abs(q.value - true) < 1e-7


def test_a_column_that_does_not_vary_has_its_value_as_quantile():
    nodes = LocalNodes(tables_of({"a": {"x": [3.0, 3.0]}, "b": {"x": [3.0]}}))
    assert describe(nodes).quartiles["x"][1].value == pytest.approx(3.0)


def test_with_small_cells_withheld_the_true_quantile_is_still_between_the_bounds():
    nodes = LocalNodes(TABLES, minimum_cell_count=5)
    (median,) = ask_quantiles(nodes, ask_moments(nodes, ["age"]), (0.5,))["age"]
    rows = POOLED["age"]
    assert median.low <= np.quantile(rows, 0.5, method="inverted_cdf") <= median.high
    assert 0 < median.error < rows.std()


def test_histograms_and_cross_tables_count_all_rows():
    nodes = LocalNodes(TABLES)
    edges = np.quantile(POOLED["age"], [0.2, 0.5, 0.8])
    counts = histogram(nodes, "age", edges).counts
    assert counts.sum() == sum(SIZES)
    assert counts[0] == (POOLED["age"] <= edges[0]).sum()
    table = cross_table(nodes, "sex", "arm")
    for i, sex in enumerate(table.rows):
        for j, arm in enumerate(table.columns):
            assert table.counts[i, j] == ((POOLED["sex"] == sex) & (POOLED["arm"] == arm)).sum()
    statistic, p = table.test()
    theirs = scipy.stats.chi2_contingency(table.counts, correction=False)
    assert (statistic, p) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_nothing_of_fewer_rows_than_the_minimum_cell_count_is_disclosed():
    nodes, few = LocalNodes(TABLES, minimum_cell_count=10), "site1"
    edges = np.linspace(1e6 - 5, 1e6 + 5, 30)[None]
    questions = [
        Question("columns"),
        Question("moments", {"columns": ["age"]}),
        Question("products", {"columns": ["age", "dose"]}),
        Question("bins", {"columns": ["age"]}, {"edges": edges}),
        Question("cells", {"columns": ["sex", "arm"], "first": ["f", "m"], "second": ["a", "b", "c"]}),
    ]
    columns, moments, products, bins, cells = (nodes.ask(q)[few] for q in questions)
    assert columns.words["rows"] == -1
    assert columns.words["columns"]["sex"]["words"] == {}
    assert not moments.arrays["moments"].any()
    assert not products.arrays["products"].any()
    assert bins.arrays["counts_0"].tolist() == [0]
    assert set(np.unique(cells.arrays["counts"])) == {-1}
    shown = str(describe(nodes).summary())
    assert "withheld" in shown
    assert "site1" in shown


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda n: ask_moments(n, ["sex"]), "made of words"),
        (lambda n: ask_moments(n, ["wage"]), "wage"),
        (lambda n: cross_table(n, "sex", "age"), "counts words"),
        (lambda n: ask_quantiles(n, ask_moments(n, ["age"]), (0.0,)), "between 0 and 1"),
        (lambda n: n.ask(Question("rows")), "question"),
        (lambda n: LocalNodes({}, 0), "at least 1"),
        (lambda n: describe(n, ["height"]), "height"),
    ],
)
def test_impossible_questions_are_refused_in_one_sentence(ask, words):
    with pytest.raises(UnalikeError, match=words):
        ask(LocalNodes(TABLES))


def test_a_column_of_numbers_here_and_words_there_is_refused_by_both_names():
    tables = tables_of({"a": {"x": [1.0]}, "b": {"x": ["low"]}})
    with pytest.raises(UnalikeError, match="numbers at a and words at b"):
        describe(LocalNodes(tables))
