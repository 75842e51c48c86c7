"""Does a server that chooses batches and coefficients learn of single rows?  (Attacks by rounds.)"""

import numpy as np
import pytest

pytest.importorskip("flwr")
pytest.importorskip("formulaic")

from unalike.analytics.disclosure import DisclosurePolicy
from unalike.analytics.disclosure.influence import largest_leverage
from unalike.analytics.disclosure.row_weights import event_weights
from unalike.data.tables import Table
from unalike.deploy.analysis_config import AnalysisConfig
from unalike.deploy.client.table_node import TableWorker

from .attacked_node import PLAN, ROWS, patients, plan_of, refused, step, train


@pytest.fixture
def node(tmp_path):
    return TableWorker(patients(), tmp_path)


MODEL = plan_of("income ~ age", ("Intercept", "age"))


def test_thresholds_are_not_hidden_in_other_spellings_of_a_formula(node):
    """Each spelling is a plan of its own; all weights together obey the limit."""
    weights = [np.ones(ROWS)]
    for number, (slope, at) in enumerate((s, t) for s in (0.1, 0.2, 0.3, -0.2) for t in (22, 40, 57, 78)):
        spelled = plan_of("sick ~" + " " * (number + 1) + "age + income", ("Intercept", "age", "income"))
        step(node, spelled, "LogLoss", [0.0, 0.0, 0.0])
        if step(node, spelled, "LogLoss", [-at * slope, slope, 0.0], 1).kind == "upload":
            weights.append(1 / (1 + np.exp(-slope * (patients()["age"] - at))))
    assert len(weights) > 3
    assert largest_leverage(np.column_stack(weights), 1e-10) <= 0.5 + 1e-9


def test_units_do_not_sharpen_coefficients_that_were_evaluated(node):
    assert step(node, PLAN, "LogLoss", [0.0, 0.0, 0.0]).kind == "upload"
    newton = {"class": "Newton", "objective": {"class": "LogLoss", "width": 3}}
    units = {"domain": [[0, 1]] * 3, "standardize": False}
    contract = AnalysisConfig("abc", newton, PLAN.write(), 0, 1, ROWS, 0, units).write()
    assert train(node, contract, np.zeros(3), 1).kind == "refusal"


def related(node, round, seed=0, **work):
    """A round of related devices with any local work."""
    method = {"class": "HM1Rounds", "work": {"class": "LocalWork", **work}, "clients": 1}
    shaped = {"models": np.zeros((1, 2)), "pull": np.zeros((1, 2)), "own": np.zeros(1)}
    contract = AnalysisConfig("abc", method, MODEL.write(), 0, 1, ROWS, seed).write()
    return train(node, contract, {**shaped, "typical_noise": np.ones(())}, round)


def test_mini_batches_that_could_be_solved_for_single_rows_are_refused(node):
    """Eighty uploads of known batches were eighty equations for the responses."""
    for size in (1, 5, 32, ROWS - 1):
        for work in ({"steps": 1}, {"steps": 20}, {"epochs": 1}, {}):
            refused(related(node, 0, batch_size=size, **work), "all of its rows in every step")
    kernel = {"class": "Kernel", "text": "rbf", "inputs": 1}
    process = {"class": "FGPR", "kernel": kernel, "local_steps": 1, "batch_size": 5}
    units = {"domain": "20..80", "standardize": True}
    contract = AnalysisConfig("abc", process, MODEL.write(), 0, 1, ROWS, 0, units).write()
    refused(train(node, contract, np.zeros(3)), "all of its rows in every step")


def test_all_seeds_and_rounds_of_full_batches_are_one_equation(node):
    answers = [related(node, n, seed=n, batch_size=size, steps=3) for n, size in enumerate((0, ROWS, 99, 0))]
    assert {answer.kind for answer in answers} == {"upload"}
    models = [answer.arrays["upload/model"] for answer in answers]
    assert all(np.allclose(model, models[0], rtol=1e-9) for model in models)


def test_a_contract_with_room_for_fewer_rows_does_not_choose_rows(node):
    """Sums over the first 30 rows, subtracted from those over 31, were one row."""
    newton = {"class": "Newton", "objective": {"class": "LeastSquares", "width": 2}}
    for largest in range(1, ROWS):
        contract = AnalysisConfig("abc", newton, MODEL.write(), 0, 1, largest).write()
        refused(train(node, contract, np.zeros(2)), "no room for all rows")


def test_no_method_but_processes_takes_rows_in_other_units(node):
    units = {"domain": [[0.0], [1.0]], "standardize": False}
    method = {"class": "HM1Rounds", "work": {"class": "LocalWork", "steps": 1, "batch_size": 0}, "clients": 1}
    contract = AnalysisConfig("abc", method, MODEL.write(), 0, 1, ROWS, 0, units).write()
    shaped = {"models": np.zeros((1, 1)), "pull": np.zeros((1, 1)), "own": np.zeros(1)}
    refused(train(node, contract, {**shaped, "typical_noise": np.ones(())}), "no other units")


def test_thresholds_of_one_model_are_audited_down_to_rounding(node):
    """Twenty smooth thresholds were an indicator of one person, amplified a millionfold."""
    age, weights = patients()["age"], [np.ones(ROWS)]
    step(node, PLAN, "LogLoss", [0.0, 0.0, 0.0])
    points = [(slope, at) for slope in (0.05, 0.1, 0.2, 0.3) for at in np.linspace(20, 80, 13)]
    for slope, at in np.random.default_rng(0).permutation(points):
        if step(node, PLAN, "LogLoss", [-at * slope, slope, 0.0], 1).kind == "upload":
            weights.append(1 / (1 + np.exp(-slope * (age - at))))
    assert 3 < len(weights) <= DisclosurePolicy().maximum_rounds
    for visible in (1e-3, 1e-6, 1e-9):
        assert largest_leverage(np.column_stack(weights), visible) <= 0.5 + 1e-6


def followed(rows=200):
    """Patients with signed times, of which several are the same."""
    rng = np.random.default_rng(5)
    times = np.ceil(rng.exponential(30, rows)) * np.where(rng.random(rows) < 0.7, 1, -1)
    columns = {"age": rng.uniform(1, 4, rows), "income": rng.normal(50, 8, rows), "survived": times}
    return Table.of(columns)


def cox(node, formula, terms, point, round=0, columns=None, **objective):
    plan = plan_of(formula, ("Intercept", *terms))
    chosen = list(range(1, len(terms) + 1)) if columns is None else columns
    likelihood = {"class": "StratifiedLikelihood", "width": len(chosen), "columns": chosen, **objective}
    newton = {"class": "Newton", "objective": likelihood}
    contract = AnalysisConfig("abc", newton, plan.write(), 0, 1, 200).write()
    return train(node, contract, np.asarray(point, np.float64), round)


def test_cox_models_of_several_plans_are_audited_together(tmp_path):
    """Weights exp(-s (age - c)^2) of age and its square are near-indicators; each spelling is a plan."""
    table = followed()
    node, answered = TableWorker(table, tmp_path), []
    x = np.column_stack([table["age"], table["age"] ** 2])
    for number, (sharp, at) in enumerate((s, c) for s in (0.3, 1, 3, 10) for c in np.linspace(1, 4, 7)):
        formula = "survived ~" + " " * (number // 5 + 1) + "age + I(age ** 2)"
        terms = ("age", "I(age ** 2)")
        if cox(node, formula, terms, [0.0, 0.0]).kind == "upload" and not answered:
            answered.append(reference_weights(x, table["survived"], [0.0, 0.0]))
        if cox(node, formula, terms, [2 * at * sharp, -sharp], 1).kind == "upload":
            answered.append(reference_weights(x, table["survived"], [2 * at * sharp, -sharp]))
    assert len(answered) > 3
    together = np.column_stack([np.ones(200), *answered])
    assert largest_leverage(together, 1e-3) <= 0.5 + 1e-6


def reference_weights(x, y, at):
    """Each row's share of the risk sets, event by event, with Efron's treatment of ties."""
    risk, weights = np.exp(x @ np.array(at)), np.zeros(len(y))
    for time in np.unique(y[y > 0]):
        tied, here = y == time, np.abs(y) >= time
        for place in range(tied.sum()):
            part = here - place / tied.sum() * tied
            weights += part * risk / (part @ risk)
    return weights


def test_weights_of_cox_models_are_those_of_their_gradient():
    table = followed(40)
    x = np.column_stack([table["age"], table["income"] / 50])
    found = event_weights(x, table["survived"], np.array([0.3, -0.2]), "efron")
    np.testing.assert_allclose(found, reference_weights(x, table["survived"], [0.3, -0.2]), rtol=1e-10)


def test_other_treatments_of_ties_and_other_columns_are_no_new_model(tmp_path):
    """Two treatments of ties at the same coefficients differ in the tied rows alone."""
    node = TableWorker(followed(), tmp_path)
    for ties in ("efron", "breslow"):
        cox(node, "survived ~ age + income", ("age", "income"), [0.0, 0.0], ties=ties)
    keys = [key for key in node.guard.ledger._rounds if "Stratified" in key]
    assert len(keys) <= 2  # each is audited against the other
    answer = cox(node, "survived ~ age + income", ("age", "income"), [0.0], columns=[1])
    refused(answer, "a coefficient for every term")
