"""Is Cox regression over clients the one of all rows in one place, with either treatment of ties?"""

import numpy as np
import pytest
from statsmodels.duration.hazard_regression import PHReg

from unalike.analytics import CoxModel
from unalike.analytics.design import Design
from unalike.analytics.serialization import read_method, write_method
from unalike.data import Federation, Split, load
from unalike.data.survival import signed_times
from unalike.errors import ConfigError, DataError
from unalike.report.analysis_report import analysis_numbers, report_analysis


def made(n=240, clients=5, seed=0, tied=True):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) * [1.0, 2.0, 0.3] + [0.0, 4.0, -1.0]
    owners = np.sort(rng.integers(0, clients, n))
    until = rng.exponential(np.exp(-x @ [0.6, -0.2, 1.0]) * (1 + owners))
    followed = rng.exponential(3.0, n)
    times = np.minimum(until, followed)
    times = np.ceil(times * 4) / 4 if tied else times
    return x, times, (until <= followed).astype(int), owners


def federation(x, times, events, owners):
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners))])
    y = signed_times(times, events)
    none = Split(x[:0], y[:0], np.zeros_like(offsets))
    return Federation(Split(x, y, offsets), none, none, None)


def close(ours, theirs, digits=1e-7):
    np.testing.assert_allclose(ours, theirs, rtol=digits, atol=digits * np.abs(theirs).max())


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_estimates_errors_and_likelihood_are_those_of_all_rows(ties, stratified, tied):
    x, times, events, owners = made(tied=tied)
    ours = CoxModel(ties=ties, stratified=stratified).fit(federation(x, times, events, owners))
    strata = owners if stratified else None
    theirs = PHReg(times, x, events, ties=ties, strata=strata).fit(method="newton", tol=1e-14, disp=0)
    close(ours.params, theirs.params)
    close(ours.bse, theirs.bse, 1e-6)
    close(ours.llf, np.array(theirs.llf))
    close(ours.conf_int(0.9), theirs.conf_int(0.1), 1e-6)
    assert ours.converged
    assert ours.run.rounds < 12


def test_without_ties_breslow_and_efron_are_the_same_and_with_ties_they_are_not():
    fits = {
        (tied, ties): CoxModel(ties=ties).fit(federation(*made(tied=tied))).params
        for tied in (False, True)
        for ties in ("breslow", "efron")
    }
    close(fits[False, "breslow"], fits[False, "efron"], 1e-9)
    assert np.abs(fits[True, "breslow"] - fits[True, "efron"]).max() > 1e-3


def test_how_rows_are_dealt_to_clients_does_not_matter():
    x, times, events, _ = made()
    order = np.random.default_rng(1).permutation(len(times))
    one = CoxModel().fit(federation(x, times, events, np.zeros(len(times), int)))
    many = CoxModel().fit(federation(x[order], times[order], events[order], np.arange(len(times)) // 16))
    close(one.params, many.params, 1e-9)


def test_stratified_is_pooled_for_a_single_client():
    x, times, events, _ = made()
    rows = federation(x, times, events, np.zeros(len(times), int))
    close(CoxModel(stratified=True).fit(rows).params, CoxModel().fit(rows).params, 1e-9)


def test_a_ridge_shrinks_and_the_maximum_has_no_slope():
    rows = federation(*made())
    free, held = CoxModel().fit(rows), CoxModel(ridge=50.0).fit(rows)
    assert np.linalg.norm(held.params) < np.linalg.norm(free.params)
    assert held.llf < free.llf


def test_tables_with_a_formula_and_a_column_of_events_are_the_same_as_signed_times():
    x, times, events, owners = made()
    tables = {
        f"c{k}": {
            "age": x[owners == k, 0],
            "dose": x[owners == k, 1],
            "time": times[owners == k],
            "died": events[owners == k].astype(float),
        }
        for k in range(5)
    }
    by_formula = CoxModel(event="died").fit(tables, "time ~ age + dose")
    assert by_formula.terms == ("age", "dose")
    close(by_formula.params, CoxModel().fit(federation(x[:, :2], times, events, owners)).params, 1e-9)
    new = {"age": [0.0, 1.0], "dose": [0.0, 0.0]}
    close(by_formula.predict(new), np.array([0.0, by_formula.params[0]]))
    assert "Hazard ratios" in by_formula.summary().as_text()


def test_columns_that_say_nothing_are_named_and_harm_nobody():
    x, times, events, owners = made()
    wide = np.column_stack([x, np.full(len(x), 7.3), x[:, 0] + x[:, 1]])
    for stratified in (False, True):
        plain = CoxModel(stratified=stratified).fit(federation(x, times, events, owners))
        ours = CoxModel(stratified=stratified).fit(federation(wide, times, events, owners))
        close(ours.params[:3], plain.params, 1e-6)
        assert np.isnan(ours.params[3:]).all()
        assert "x4" in ours.summary().as_text()


def test_the_baseline_hazard_is_breslows():
    x, times, events, owners = made()
    ours = CoxModel(ties="breslow").fit(federation(x, times, events, owners))
    at, cumulative = ours.baseline_hazard()
    risk = np.exp(x @ ours.params)
    naive = np.cumsum([events[times == t].sum() / risk[times >= t].sum() for t in at])
    close(cumulative, naive, 1e-6)


def test_a_client_without_events_has_no_concordance_but_helps_with_its_risk_sets():
    x, times, events, owners = made()
    events = np.where(owners == 2, 0, events)
    ours = CoxModel().fit(federation(x, times, events, owners))
    theirs = PHReg(times, x, events, ties="efron").fit(method="newton", tol=1e-14, disp=0)
    close(ours.params, theirs.params)
    found = ours.concordance()
    assert np.isnan(found[2])
    assert (found[[0, 1, 3, 4]] > 0.5).all()


def test_risk_sets_of_clients_are_not_among_the_methods_that_nodes_are_asked_to_run():
    rows = federation(*made())
    pooled, own = (CoxModel(stratified=s).fit(rows).run.setting.algorithm for s in (False, True))
    assert read_method(write_method(own)) == own
    with pytest.raises(ConfigError, match="cannot be described to nodes"):
        write_method(pooled)


def test_bad_input_is_refused_in_a_sentence():
    x, times, events, owners = made()
    with pytest.raises(DataError, match="no client has seen any event"):
        CoxModel().fit(federation(x, times, 0 * events, owners))
    with pytest.raises(ConfigError, match="breslow or efron"):
        CoxModel(ties="exact").fit(federation(x, times, events, owners))
    with pytest.raises(DataError, match="positive numbers"):
        CoxModel().fit(Design.of(Federation.from_owners(x, 0 * times, owners, classes=None), intercept=False))
    with pytest.raises(ConfigError, match="names a column of tables"):
        CoxModel(event="died").fit(federation(x, times, events, owners))
    with pytest.raises(ConfigError, match="baseline hazards of their own"):
        CoxModel(stratified=True).fit(federation(x, times, events, owners)).baseline_hazard()
    tables = {"a": {"time": [1.0, 2.0], "died": [1.0, 3.0], "age": [1.0, 2.0]}}
    with pytest.raises(DataError, match="client 'a': events must be 1"):
        CoxModel(event="died").fit(tables, "time ~ age")


def test_a_forgotten_column_of_events_is_noticed():
    x, times, events, owners = made()
    fitted = CoxModel().fit(federation(x, times, events, owners))
    assert fitted.events == events.sum()
    assert "event=NAME" not in fitted.summary().as_text()
    for stratified in (False, True):
        everyone = CoxModel(stratified=stratified).fit(federation(x, times, 0 * events + 1, owners))
        assert "event=NAME" in everyone.summary().as_text()


def test_the_page_names_the_coefficients_and_not_the_intercept(tmp_path):
    tables = {"a": {"t": [1.0, 2.0, 3.0, 4.0], "e": [1, 1, 0, 1], "age": [3.0, 1.0, 2.0, 1.5]}}
    fitted = CoxModel(event="e", ridge=0.1).fit(tables, "t ~ age")
    assert analysis_numbers(fitted)["terms"] == ["age"]
    assert "Intercept" not in report_analysis(tmp_path / "page.html", fitted, {}).read_text()


def test_the_generated_centers_are_ranked_better_than_by_chance():
    rows = load("tcga_like", test_fraction=0.0)
    ours = CoxModel(ridge=1.0).fit(rows)
    assert (ours.concordance() > 0.6).all()
