"""Is a mixed model over clients that of the pooled rows?"""

import numpy as np
import pandas
import pytest
import statsmodels.formula.api as smf

from unalike.analytics.linear.linear_mixed_model import MixedModel
from unalike.data.tables import tables_of
from unalike.errors import ConfigError, DataError


def made(seed=0, clients=14, slopes=0.0):
    rng = np.random.default_rng(seed)
    parts = []
    for k in range(clients):
        n = int(rng.integers(8, 40))
        x = rng.normal(size=n)
        y = 1 + (2 + slopes * rng.normal()) * x + 1.5 * rng.normal() + 0.7 * rng.normal(size=n)
        parts.append(pandas.DataFrame({"site": f"s{k:02d}", "x": x, "y": y}))
    return pandas.concat(parts, ignore_index=True)


@pytest.mark.parametrize("restricted", [True, False])
def test_random_intercepts_are_those_of_the_pooled_rows(restricted):
    frame = made()
    ours = MixedModel(restricted=restricted).fit(tables_of(frame, "site"), "y ~ x + (1 | client)")
    theirs = smf.mixedlm("y ~ x", frame, groups="site").fit(reml=restricted, gtol=1e-10)
    np.testing.assert_allclose(ours.params, theirs.fe_params, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.bse, theirs.bse_fe, rtol=5e-5)
    np.testing.assert_allclose([ours.scale, ours.llf], [theirs.scale, theirs.llf], rtol=1e-6)
    np.testing.assert_allclose(ours.variances, theirs.cov_re.to_numpy()[0], rtol=1e-5)
    effects, _ = ours.effects()
    np.testing.assert_allclose(
        effects[:, 0], [value.iloc[0] for value in theirs.random_effects.values()], rtol=1e-4, atol=1e-6
    )


def test_independent_intercepts_and_slopes_are_those_of_the_pooled_rows():
    frame = made(seed=1, clients=30, slopes=0.8)
    ours = MixedModel().fit(tables_of(frame, "site"), "y ~ x + (1 + x | client)")
    parts = {"a": "0 + C(one)", "b": "0 + x"}
    frame["one"] = 1
    theirs = smf.mixedlm("y ~ x", frame, groups="site", re_formula="0", vc_formula=parts).fit(gtol=1e-10)
    np.testing.assert_allclose(ours.params, theirs.fe_params, rtol=1e-4)
    np.testing.assert_allclose(ours.variances, theirs.vcomp, rtol=1e-3)


def test_effects_are_shrunk_and_new_clients_get_shared_coefficients():
    frame = made()
    tables = tables_of(frame, "site")
    fitted = MixedModel().fit(tables, "y ~ x + (1 | client)")
    effects, spreads = fitted.effects()
    residuals = np.array(
        [np.mean(t["y"] - fitted.params[0] - fitted.params[1] * t["x"]) for t in tables.values()]
    )
    assert (np.abs(effects[:, 0]) < np.abs(residuals)).all()
    assert (spreads > 0).all()
    new = {"x": np.array([0.0, 1.0])}
    with pytest.raises(ConfigError, match="no client 'unknown'"):
        fitted.predict(new, "unknown")
    np.testing.assert_allclose(fitted.predict(new), fitted.params[0] + fitted.params[1] * new["x"])
    known = fitted.predict(new, "s00")
    np.testing.assert_allclose(known, fitted.params[0] + fitted.params[1] * new["x"] + effects[0, 0])
    assert "Variance between clients" in str(fitted.summary())


def test_clients_that_do_not_differ_are_said_not_to():
    rng = np.random.default_rng(3)
    tables = {f"c{k}": {"x": (x := rng.normal(size=50)), "y": x + rng.normal(size=50)} for k in range(6)}
    fitted = MixedModel().fit(tables, "y ~ x + (1 | client)")
    assert fitted.variances[0] < 0.2
    assert np.isfinite(fitted.bse).all()


def test_one_client_or_nothing_that_varies_is_refused():
    tables = {"a": {"x": [1.0, 2, 4], "y": [1.0, 3, 4]}}
    with pytest.raises(DataError, match="two clients"):
        MixedModel().fit(tables, "y ~ x + (1 | client)")
    with pytest.raises(DataError, match="differ between clients"):
        MixedModel().fit(tables, "y ~ x")


@pytest.mark.parametrize("unit", [1.0, 100.0, 0.01])
def test_whether_clients_differ_does_not_depend_on_units(unit):
    """A slope that differs is not called the same because its column is in large numbers."""
    rng, different, alike = np.random.default_rng(5), {}, {}
    for k in range(12):
        age = rng.uniform(30, 70, 60)
        noise = 20 * rng.normal(size=60)
        different[f"c{k}"] = {"age": unit * age, "y": 5 + (1 + 0.3 * rng.normal()) * age + noise}
        alike[f"c{k}"] = {"age": unit * age, "y": 5 + age + noise - noise.mean()}
    formula = "y ~ age + (age | client)"
    fitted = MixedModel().fit(different, formula)
    said = str(fitted.summary())
    found = [line for line in said.splitlines() if line.startswith("No difference between clients")]
    assert not any("age" in line for line in found)
    assert fitted.reliability[1] > 0.5
    plain = MixedModel().fit({k: {**v, "age": v["age"] / unit} for k, v in different.items()}, formula)
    np.testing.assert_allclose(unit**2 * fitted.variances[1], plain.variances[1], rtol=1e-4)
    assert "are taken as independent of each other" in said
    same = MixedModel().fit(alike, "y ~ age + (1 | client)")
    assert "No difference between clients was found in: Intercept." in str(same.summary())
    assert "independent of each other" not in str(same.summary())
