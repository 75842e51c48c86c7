"""Does noise hide every row as promised, whoever asks and whatever the row holds?"""

import numpy as np
import pytest

pytest.importorskip("formulaic")

from unalike.analytics.disclosure import DisclosureError, DisclosureLedger
from unalike.analytics.disclosure import noisy_answers as module
from unalike.analytics.disclosure.noisy_answers import NoisePolicy, NoisyAnswers
from unalike.analytics.model_matrix import plan_design
from unalike.analytics.statistics import LocalNodes, Question
from unalike.data.tables import Table
from unalike.errors import ConfigError
from unalike.privacy.accountant import charge_epsilon

BOUNDS = {"age": (0.0, 100.0), "income": (-1.0, 3.0), "sex": ("f", "m")}


def patients(n=60, last=None):
    rng = np.random.default_rng(1)
    columns = {
        "age": rng.uniform(10, 90, n),
        "income": rng.uniform(0, 2, n),
        "sex": rng.choice(["f", "m"], n),
    }
    for name, value in (last or {}).items():
        columns[name][-1] = value
    return Table.of(columns)


def answers(table, folder=None, **policy):
    settings = {"epsilon": 1.0, "delta": 1e-5, "releases": 5, "bounds": BOUNDS, **policy}
    ledger = DisclosureLedger(table, None if folder is None else folder / "disclosure.json")
    return NoisyAnswers(table, NoisePolicy(**settings), ledger)


@pytest.fixture
def noiseless(monkeypatch):
    """The noise is replaced by zeros; its deviations are kept."""
    deviations = []

    def zeros(deviation, shape):
        deviations.append(deviation)
        return np.zeros(shape)

    monkeypatch.setattr(module, "system_noise", zeros)
    return deviations


EXTREME = [
    {},
    {"age": 1e12, "income": 1e12, "sex": "m"},
    {"age": -1e12, "income": 1e12, "sex": "f"},
    {"age": np.nan, "income": 0.0, "sex": "f"},
    {"age": 0.0, "income": -1e12, "sex": ""},
    {"age": 100.0, "income": 3.0, "sex": "x"},
    {"age": 50.0, "income": np.nan, "sex": "m"},
]
PLAN = plan_design(LocalNodes({"a": patients()}), "income ~ age * sex")


def upper(matrix):
    return matrix[np.triu_indices(len(matrix))]


def scaled_products(table, names):
    """What gets noise, from its definition."""
    rows = []
    for values in zip(*(table[name] for name in names), strict=True):
        middles = [(values[j] - sum(BOUNDS[n]) / 2) / (np.ptp(BOUNDS[n]) / 2) for j, n in enumerate(names)]
        w = np.array([1.0, *np.clip(middles, -1, 1)])
        rows.append(np.outer(w, w) if np.isfinite(w).all() else np.zeros((len(w), len(w))))
    return np.sum(rows, axis=0)


@pytest.mark.parametrize("names", [["age"], ["age", "income"]])
def test_one_row_changes_sums_of_products_by_no_more_than_the_noise_allows_for(noiseless, names):
    worlds = [patients(last=last) for last in EXTREME]
    found = [upper(scaled_products(table, names)) for table in worlds]
    kinds = "moments" if len(names) == 1 else "products"
    for table in worlds:
        answers(table).answer(Question(kinds, {"columns": names}))
    (deviation,) = set(noiseless)
    multiplier = NoisePolicy(1.0, 1e-5, 5, BOUNDS).multiplier
    furthest = max(np.linalg.norm(a - b) for a in found for b in found)
    assert furthest <= deviation / multiplier * (1 + 1e-12)


def test_one_row_changes_the_sums_of_a_model_by_no_more_than_the_noise_allows_for(noiseless):
    found = []
    for last in EXTREME:
        noisy = answers(patients(last=last))
        products, labels = noisy.model_products(PLAN)
        middles, halves = np.array([(0.0, 1.0), *map(noisy._range_of, labels[1:])]).T
        back = np.diag(halves)
        back[:, 0] += middles
        scaled = np.linalg.inv(back) @ products @ np.linalg.inv(back).T
        found.append(upper(scaled))
        assert (np.abs(scaled) <= 60 + 1e-9).all()  # no entry of a row is larger than one
    (deviation,) = set(noiseless)
    furthest = max(np.linalg.norm(a - b) for a in found for b in found)
    assert 0 < furthest <= deviation / NoisePolicy(1.0, 1e-5, 5, BOUNDS).multiplier


def test_without_its_noise_an_answer_is_exact(noiseless):
    table = patients()
    moments = answers(table).answer(Question("moments", {"columns": ["age"]})).arrays["moments"]
    np.testing.assert_allclose(moments[0, :2], [60, table["age"].mean()])
    np.testing.assert_allclose(moments[0, 2], 60 * table["age"].var())
    products, labels = answers(table).model_products(PLAN)
    assert labels == ["1", "age", "sex[T.m]", "age:sex[T.m]", "income"]
    assert products[0, 0] == 60
    np.testing.assert_allclose(products[1, 4], (table["age"] * table["income"]).sum())


def test_noise_has_the_deviation_that_the_budget_needs():
    noisy, policy = answers(patients(), releases=400), NoisePolicy(1.0, 1e-5, 400, BOUNDS)
    exact = scaled_products(patients(), ["age"])
    drawn = []
    for place in range(400):
        key = str(place)
        drawn.append(upper(noisy._noisy_products(key, lambda: exact, 2) - exact))
    deviation = policy.multiplier * np.sqrt(2) * 2
    assert np.std(drawn) == pytest.approx(deviation, rel=5 / np.sqrt(2 * np.size(drawn)))
    with pytest.raises(DisclosureError, match="budget"):
        noisy._noisy_products("one more", lambda: exact, 2)
    assert charge_epsilon(noisy.ledger.spent, 1e-5) == pytest.approx(1.0, abs=1e-4)


def test_asking_again_spends_nothing_and_averages_nothing_away(tmp_path):
    question = Question("moments", {"columns": ["age"]})
    first = answers(patients(), tmp_path).answer(question).arrays["moments"]
    for _ in range(3):  # also after a restart
        again = answers(patients(), tmp_path)
        np.testing.assert_array_equal(again.answer(question).arrays["moments"], first)
    one = NoisePolicy(1.0, 1e-5, 5, BOUNDS).multiplier ** -2
    assert again.ledger.spent == pytest.approx(one)


def test_the_budget_is_kept_over_restarts_and_changed_tables(tmp_path):
    for place in range(5):
        noisy = answers(patients(last={"age": float(place)}), tmp_path)
        noisy.answer(Question("moments", {"columns": ["age"]}))
    with pytest.raises(DisclosureError, match="used up"):
        answers(patients(last={"age": 77.0}), tmp_path).answer(Question("moments", {"columns": ["age"]}))


def test_counts_have_noise_and_edges_and_categories_are_the_owners():
    noisy = answers(patients(), bin_edges={"age": (30.0, 60.0)}, releases=3)
    arrays = noisy.answer(Question("bins", {"columns": ["age"]})).arrays
    assert arrays["edges_0"].tolist() == [30.0, 60.0]
    assert arrays["counts_0"].shape == (3,)
    assert (arrays["counts_0"] >= 0).all()
    asked = {"columns": ["sex", "sex"], "first": ["f", "Ann"], "second": ["f", "m"]}
    cells = noisy.answer(Question("cells", asked)).arrays["counts"]
    assert cells[1].tolist() == [-1, -1]  # not a category that the owner named
    facts = noisy.answer(Question("columns")).words
    assert set(facts["columns"]) == set(BOUNDS)
    assert set(facts["columns"]["sex"]["words"].values()) == {-1}


def test_what_has_no_bounds_is_not_answered():
    noisy = answers(patients(), bounds={"age": (0.0, 100.0)})
    with pytest.raises(DisclosureError, match="no bounds for column 'income'"):
        noisy.answer(Question("moments", {"columns": ["income"]}))
    with pytest.raises(DisclosureError, match="no bounds"):
        noisy.model_products(PLAN)
    assert list(noisy.answer(Question("columns")).words["columns"]) == ["age"]
    plan = plan_design(LocalNodes({"a": patients()}), "income ~ scale(age)")
    with pytest.raises(DisclosureError, match="not 'scale"):
        answers(patients()).model_products(plan)


@pytest.mark.parametrize(
    "policy",
    [
        {"epsilon": 0.0},
        {"delta": 1.0},
        {"releases": 0},
        {"bounds": {"age": (1.0, 0.0)}},
        {"bounds": {"age": (0.0, np.inf)}},
        {"bounds": {"age": ("young", "old")}},
        {"bounds": {"sex": (0.0, 1.0)}},
        {"bounds": {"height": (0.0, 3.0)}},
    ],
    ids=str,
)
def test_policies_that_promise_nothing_are_refused(policy):
    with pytest.raises(ConfigError):
        answers(patients(), **policy)
