"""Are contrasts, held-out errors and new clients what formulas and other methods say?"""

import numpy as np
import pytest

pytest.importorskip("formulaic")

from unalike.analytics.analyses import fit_analysis
from unalike.analytics.contrasts import contrast_table, parse_contrast
from unalike.analytics.held_out import ALONE, OURS, POOLED, held_out_errors, split_tables
from unalike.analytics.new_client import adapt_to, forecast_table, newcomer_table
from unalike.data.tables import Table
from unalike.errors import ConfigError, UnalikeError

TERMS = ("Intercept", "a", "sex[T.m]", "scale(b)")


def tables(clients=5, rows=30, seed=0):
    rng = np.random.default_rng(seed)
    made = {}
    for k in range(clients):
        a, b = rng.normal(size=(2, rows))
        y = (1 + 0.5 * rng.normal()) * a - 0.5 * b + 0.2 * rng.normal(size=rows)
        made[f"site {k}"] = Table.of({"a": a, "b": b, "y": y})
    return made


@pytest.fixture(scope="module")
def hm2():
    return fit_analysis(tables(), "hm2: y ~ 0 + a + b")


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("a", [0, 1, 0, 0]),
        ("a - 2*sex[T.m]", [0, 1, -2, 0]),
        ("-a + 0.5 * scale(b)", [0, -1, 0, 0.5]),
        ("2*a - a", [0, 1, 0, 0]),
    ],
)
def test_contrasts_are_read(text, weights):
    assert parse_contrast(text, TERMS).tolist() == weights


@pytest.mark.parametrize(("text", "words"), [("age", "unknown term"), ("a - a", "no weight")])
def test_contrasts_of_nothing_are_refused(text, words):
    with pytest.raises(UnalikeError, match=words):
        parse_contrast(text, TERMS)


def test_a_contrast_of_least_squares_is_that_of_its_covariance():
    fitted = fit_analysis(tables(), "y ~ a + b")
    (row,) = contrast_table(fitted, "a + b", level=0.9).rows
    weights = np.array([0, 1, 1])
    assert row[1] == pytest.approx(weights @ fitted.params)
    assert row[2] == pytest.approx(np.sqrt(weights @ fitted.cov_params() @ weights))
    (alone,) = contrast_table(fitted, "a", level=0.9).rows
    np.testing.assert_allclose(alone[3:5], fitted.conf_int(0.9)[1])


def test_devices_are_tested_with_their_own_draws(hm2):
    rows = contrast_table(hm2, "a").rows
    assert [row[0] for row in rows] == ["all clients", *hm2.clients]
    for name, row in zip(hm2.clients, rows[1:], strict=True):
        assert row[1:3] == pytest.approx(hm2.test(name, "a")[:2])
    (gap,) = contrast_table(hm2, "a", "site 1", against="site 2").rows
    assert gap[1] == pytest.approx(hm2.difference("site 1", "site 2", "a").estimate)


def test_held_out_rows_are_a_share_of_every_client_and_none_twice():
    everything = tables()
    kept, held = split_tables(everything, 0.2, seed=1)
    for name, table in everything.items():
        assert (len(kept[name]), len(held[name])) == (24, 6)
        both = np.sort(np.concatenate([kept[name]["y"], held[name]["y"]]))
        np.testing.assert_array_equal(both, np.sort(table["y"]))


def test_held_out_errors_are_those_of_predictions_by_hand():
    kept, held = split_tables(tables(), 0.2)
    fitted = fit_analysis(kept, "hm1: y ~ 0 + a + b")
    found = held_out_errors(fitted, held)
    for i, name in enumerate(fitted.clients):
        x = np.column_stack([held[name]["a"], held[name]["b"]])
        y = held[name]["y"]
        wanted = np.sqrt(np.mean((x @ fitted.params[i] - y) ** 2))
        assert found.errors[OURS][i] == pytest.approx(wanted)
        mine = np.column_stack([kept[name]["a"], kept[name]["b"]])
        alone = np.linalg.lstsq(mine, kept[name]["y"], rcond=None)[0]
        assert found.errors[ALONE][i] == pytest.approx(np.sqrt(np.mean((x @ alone - y) ** 2)))
    assert found.means()[OURS] < found.means()[POOLED]


def test_a_new_device_without_rows_is_the_population_and_with_many_its_own_least_squares(hm2):
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 2000))
    y = 3 * a + 2 * b + 0.2 * rng.normal(size=2000)
    many = adapt_to(hm2, Table.of({"a": a, "b": b, "y": y}))
    np.testing.assert_allclose(many.mean, [3, 2], atol=0.05)
    table = newcomer_table(hm2, many, "north")
    assert [row[0] for row in table.rows] == ["a", "b"]
    new = Table.of({"a": [1.0, 0.0], "b": [0.0, 1.0]})
    predicted = forecast_table(hm2, new, newcomer=many)
    np.testing.assert_allclose([row[1] for row in predicted.rows], [3, 2], atol=0.05)
    unmet = forecast_table(hm2, new)
    np.testing.assert_allclose([row[1] for row in unmet.rows], hm2.params)


def test_a_new_client_of_a_process_predicts_from_its_rows():
    rng = np.random.default_rng(2)
    clients = {}
    for k in range(3):
        x = rng.uniform(0, 6, 30)
        clients[f"s{k}"] = Table.of({"x": x, "y": (-1) ** k * np.sin(x)})
    fitted = fit_analysis(clients, "gp: y ~ x", settings={"rounds": 20, "learning_rate": 0.1})
    x = np.linspace(0, 6, 25)
    joined = adapt_to(fitted, Table.of({"x": x, "y": 7 + 2 * np.sin(x)}))
    table = forecast_table(fitted, Table.of({"x": [1.0, 4.0]}), newcomer=joined)
    for (_, mean, low, high), truth in zip(table.rows, 7 + 2 * np.sin([1.0, 4.0]), strict=True):
        assert mean == pytest.approx(truth, abs=0.1)
        assert low < mean < high


def test_models_without_newcomers_say_so():
    fitted = fit_analysis(tables(), "hm1: y ~ 0 + a + b", settings={"rounds": 2})
    with pytest.raises(ConfigError, match="hm2 and gp can"):
        adapt_to(fitted, tables()["site 0"])
    with pytest.raises(ConfigError, match="hm2 or penalized"):
        contrast_table(fit_analysis(tables(), "y ~ a"), "a", "site 0")
