"""Is an analysis between nodes that keep their tables that of the pooled rows, and what do nodes refuse?"""

import json

import numpy as np
import pytest

pytest.importorskip("flwr")
pytest.importorskip("formulaic")

from unalike.analytics.disclosure import DisclosureError, DisclosurePolicy
from unalike.analytics.disclosure.model_checks import check_matrix
from unalike.analytics.gaussian_process.regression import GaussianProcess
from unalike.analytics.hierarchical.hm1 import HM1
from unalike.analytics.hierarchical.hm1_rounds import HM1Rounds
from unalike.analytics.hierarchical.hm2 import HM2
from unalike.analytics.hierarchical.penalized import PenalizedRegression
from unalike.analytics.linear.linear_mixed_model import MixedModel
from unalike.analytics.linear.linear_regression import LinearRegression
from unalike.analytics.model_matrix import Plan, matrix_of
from unalike.analytics.serialization import read_method, write_method
from unalike.analytics.statistics import LocalNodes, describe
from unalike.analytics.survival.cox_regression import CoxModel
from unalike.data.tables import Table
from unalike.deploy.analysis import RemoteNodes, analyse_nodes
from unalike.deploy.analysis_config import AnalysisConfig
from unalike.deploy.client.table_node import TableWorker
from unalike.deploy.local_deployment import deploy_workers
from unalike.deploy.server import introductions
from unalike.deploy.transport.messages import WireMessage
from unalike.errors import ConfigError, UnalikeError
from unalike.runs import RunFolder

from .in_process_nodes import Village


def made():
    rng, tables = np.random.default_rng(2), {}
    for k, n in enumerate((60, 45)):
        age, sex = rng.uniform(20, 80, n), rng.choice(["f", "m"], n)
        y = 3 + 0.2 * age + (sex == "m") + 2 * k + rng.normal(size=n)
        signed = np.where(rng.random(n) < 0.7, 1, -1) * np.ceil(rng.exponential(400 / age))
        columns = {"age": age, "sex": sex, "y": y, "ill": (y > 14).astype(float), "survived": signed}
        tables[f"node-{k}"] = Table.of(columns)
    tables["node-0"].columns["age"][3:8] = np.nan
    return tables


TABLES = made()


def workers(folder):
    return {name: TableWorker(table, folder / name) for name, table in TABLES.items()}


@pytest.fixture(scope="module")
def post(tmp_path_factory):
    """Nodes in this process, which answer by the messages of real ones."""
    return Village.of(workers(tmp_path_factory.mktemp("tables")))


@pytest.mark.parametrize(
    ("text", "here"),
    [
        ("linear: y ~ age + sex", LinearRegression()),
        ("y ~ age + (1 | client)", MixedModel()),
        ("hm2: scale(y) ~ scale(age) + sex", HM2(rounds=3)),
    ],
)
def test_nodes_give_the_numbers_of_a_simulation(post, tmp_path, text, here):
    folder = RunFolder.create(tmp_path / "run", {"made_by": "test"})
    there = analyse_nodes(text, post, list(TABLES), folder, settings=here.get_params())
    here.fit(TABLES, text.split(":")[-1] if ":" in text else text)
    np.testing.assert_allclose(there.params, here.params, rtol=1e-9)
    np.testing.assert_allclose(there.bse, here.bse, rtol=1e-7)
    assert there.given.dropped == {"node-0": 5}
    assert str(there.summary()).splitlines()[:4] == str(here.summary()).splitlines()[:4]
    folder.close()


def test_cox_regression_of_nodes_is_stratified_and_nothing_else(post, tmp_path):
    folder = RunFolder.create(tmp_path / "run", {"made_by": "test"})
    words, settings = "cox: survived ~ age + sex", {"stratified": True}
    there = analyse_nodes(words, post, list(TABLES), folder, settings=settings)
    here = CoxModel(stratified=True).fit(TABLES, "survived ~ age + sex")
    np.testing.assert_allclose(there.params, here.params, rtol=1e-8)
    np.testing.assert_allclose(there.bse, here.bse, rtol=1e-7)
    folder.close()
    with pytest.raises(ConfigError, match="would tell their rows"):
        analyse_nodes(words, post, list(TABLES), RunFolder.create(tmp_path / "other", {"made_by": "test"}))


def test_related_devices_of_nodes_are_those_of_a_simulation(post, tmp_path):
    here = HM1(rounds=2, local_steps=5, learning_rate=0.1, batch_size=0)
    folder = RunFolder.create(tmp_path / "run", {"made_by": "test"})
    words = "scale(y) ~ scale(age) + sex"
    there = analyse_nodes(f"hm1: {words}", post, list(TABLES), folder, settings=here.get_params())
    here.fit(TABLES, words)
    np.testing.assert_allclose(there.params, here.params, rtol=1e-9)
    np.testing.assert_allclose(there.device_covariance, here.device_covariance, rtol=1e-9)
    assert str(there.summary()).splitlines()[:4] == str(here.summary()).splitlines()[:4]
    folder.close()


def test_a_related_device_is_shown_nothing_of_the_others():
    method = HM1Rounds(clients=2)
    message = {"models": np.ones((2, 3)), "pull": np.ones((2, 3)), "own": np.ones(2), "typical_noise": 1.0}
    own = method.own_message(message, 1)
    assert all((own[name][0] == 0).all() and (own[name][1] == 1).all() for name in ("models", "pull", "own"))
    assert not method.own_message(message, None)["models"].any()


def test_predictors_are_chosen_at_nodes_as_in_a_simulation(post, tmp_path):
    settings = {"rounds": 1, "draws": 40, "burn_in": 20}
    here, words = PenalizedRegression(**settings), "scale(y) ~ 0 + scale(age) + center(ill)"
    folder = RunFolder.create(tmp_path / "run", {"made_by": "test"})
    there = analyse_nodes(f"penalized: {words}", post, list(TABLES), folder, settings=settings)
    here.fit(TABLES, words)
    np.testing.assert_allclose(there.phi_mean, here.phi_mean, rtol=1e-9)
    np.testing.assert_allclose(there.params, here.params, rtol=1e-6)
    np.testing.assert_array_equal(there.select(), here.select())
    assert [table.title for table in there.summary().tables] == [t.title for t in here.summary().tables]
    with pytest.raises(ConfigError, match="stay there"):
        there.refit()
    folder.close()


def test_gaussian_processes_of_nodes_are_those_of_a_simulation(post, tmp_path):
    here = GaussianProcess(rounds=2, local_steps=2, batch_size=0, domain="20..80")
    folder = RunFolder.create(tmp_path / "run", {"made_by": "test"})
    there = analyse_nodes("gp: y ~ age", post, list(TABLES), folder, settings=here.get_params())
    here.fit(TABLES, "y ~ age")
    np.testing.assert_allclose(there.log_params, here.log_params, rtol=1e-6)
    assert there.summary().tables[0].title == here.summary().tables[0].title
    with pytest.raises(ConfigError, match="stay there"):
        there.predict([[40.0]], "node-0")
    folder.close()


def test_gaussian_processes_of_nodes_need_a_known_range(post, tmp_path):
    folder = RunFolder.create(tmp_path / "run", {"made_by": "test"})
    with pytest.raises(ConfigError, match="single rows"):
        analyse_nodes("gp: y ~ age", post, list(TABLES), folder)
    folder.close()


def test_over_a_network_nodes_give_the_same(tmp_path):
    """Once through a real SuperLink: statistics, and a model."""
    nodes = list(workers(tmp_path).values())
    with deploy_workers(nodes, tmp_path) as link, link.open() as opened:
        introductions(opened, len(TABLES), 60.0, lambda line: None)
        there, here = describe(RemoteNodes(opened, list(TABLES))), describe(LocalNodes(TABLES, 5))
        assert there.as_dict() == here.as_dict()
        folder = RunFolder.create(tmp_path / "run", {"made_by": "test"})
        fitted = analyse_nodes("linear: y ~ age + sex", opened, list(TABLES), folder)
        folder.close()
    np.testing.assert_allclose(
        fitted.params, LinearRegression().fit(TABLES, "y ~ age + sex").params, rtol=1e-9
    )


def test_methods_travel_as_words_and_nothing_else_does():
    least_squares = LinearRegression(ridge=2.0).fit(TABLES, "y ~ age").run.setting.algorithm
    ridge = PenalizedRegression(prior="ridge")._rounds(2)
    for method in (least_squares, ridge, HM1Rounds(clients=2), GaussianProcess().method(2)):
        sent = write_method(method)
        assert write_method(read_method(json.loads(json.dumps(sent)))) == sent
    for words in (
        {"class": "Popen", "args": ["ls"]},
        {"class": "Newton", "shell": 1},
        {"class": "LeastSquares"},
    ):
        with pytest.raises(UnalikeError):
            read_method(words)
    with pytest.raises(ConfigError, match="cannot be described"):
        write_method(object())


def contract(**changes):
    plan = Plan("y ~ age", {}, {}, ("Intercept", "age"))
    method = {"class": "Newton", "objective": {"class": "LeastSquares", "width": 2}}
    given = {"run": "abc", "method": method, "plan": plan.write(), "number": 0, "clients": 1, "largest": 60}
    return AnalysisConfig(**{**given, **changes}).write()


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (WireMessage("train", {"contract": "{"}), "cannot be read"),
        (WireMessage("train", {"contract": contract(number=3)}), "impossible place"),
        (WireMessage("train", {"contract": contract(method={"class": "os"})}), "unknown method"),
        (WireMessage("train", {"contract": contract(plan={"formula": "y ~ x"})}), "cannot be read"),
        (WireMessage("question", {"about": "rows", "words": "{}"}), "unknown question"),
        (WireMessage("question", {"about": "columns", "words": "[]"}), "does not say words"),
        (WireMessage("rows", {"plan": "no"}), "does not say plan"),
        (WireMessage("delete", {}), "does not know the request"),
    ],
)
def test_a_node_refuses_in_one_sentence(tmp_path, request_, words):
    from unalike.deploy.client_config import PROTOCOL

    asked = WireMessage(request_.kind, {**request_.numbers, "protocol": PROTOCOL, "job": 0, "last": -1})
    answer = TableWorker(TABLES["node-0"], tmp_path).answer(asked)
    assert answer.kind == "refusal"
    assert words in answer.numbers["reason"]


def test_sums_over_few_rows_are_not_told():
    table = Table.of({"y": np.arange(30.0), "sex": ["m"] * 3 + ["f"] * 27, "age": np.arange(30.0) ** 2})
    plan = Plan("y ~ sex", {"sex": ("f", "m")}, {}, ("Intercept", "sex[T.m]"))
    with pytest.raises(DisclosureError, match="fewer than 5 rows"):
        check_matrix(matrix_of(table, plan), plan, DisclosurePolicy())
    assert check_matrix(matrix_of(table, plan), plan, DisclosurePolicy(3)).dropped == 0
    few = Plan("y ~ age", {}, {}, ("Intercept", "age"))
    with pytest.raises(DisclosureError, match="fewer than 5 rows"):
        check_matrix(matrix_of(table.rows(np.arange(4)), few), few, DisclosurePolicy())
