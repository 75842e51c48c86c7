"""Predictions are those that evaluation counts, whoever asks, from wherever the run comes."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import unalike
from unalike.algorithms import algorithm_registry
from unalike.engine import Setting, message_template
from unalike.engine.reply_shapes import client_shapes
from unalike.errors import ConfigError, DataError, RunError
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment
from unalike.training.run import Run

METHODS = ("fedavg", "ditto", "fedem", "knnper", "local")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    words = {"data": "digits", "clients": 3, "samples": 150, "model": "linear", "rounds": 2, "batch_size": 32}
    made = {}
    for name in METHODS:
        experiment = make_experiment({**words, "algorithm": name, "partition": "dirichlet:0.5"})
        made[name] = run_experiment(experiment, place / name)
    return made


def share_right(run, federation, client, called):
    x, y = federation.test.client(client)
    return np.mean(run.predict(x, client=called) == y)


@pytest.mark.parametrize("method", METHODS)
def test_predictions_of_every_client_are_those_of_evaluation(runs, method):
    run = runs[method]
    federation = run.setting.federation
    wanted = run.evaluate("test")["accuracy"]
    again = Run.open(run.folder.path)
    for client in range(len(federation)):
        for one, called in ((run, client), (again, str(client))):
            found = share_right(one, federation, client, called)
            np.testing.assert_allclose(found, wanted[client], atol=1e-6)
    assert again.rows_here == (method == "knnper")


def test_probabilities_sum_to_one_and_the_largest_is_predicted(runs):
    run = runs["fedem"]
    x = run.setting.federation.test.x
    found = run.predict_proba(x, client=1)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(found.argmax(axis=1), run.predict(x, client=1))


def test_one_model_for_all_needs_no_client(runs):
    run = runs["fedavg"]
    x = run.setting.federation.test.x[:5]
    wanted = np.asarray(run.setting.task.apply(run.message, x)).argmax(axis=1)
    np.testing.assert_array_equal(run.predict(x), wanted)
    np.testing.assert_array_equal(run.predictor("1").predict(x), wanted)


def test_a_newcomer_predicts_as_newcomers_are_evaluated(runs):
    from unalike.training.newcomers import evaluate_newcomers

    run, new = runs["ditto"], unalike.load("digits", clients=1, samples=60, seed=9)
    wanted = evaluate_newcomers(run, new)["accuracy"][0]
    found = run.predict(new.test.x, newcomer=new.train.client(0))
    np.testing.assert_allclose(np.mean(found == new.test.y), wanted, atol=1e-6)


def test_who_cannot_predict_says_what_is_missing(runs):
    ditto = runs["ditto"]
    x = ditto.setting.federation.test.x
    with pytest.raises(ConfigError, match=r"every client predicts by itself.*\(client: 0, 1, 2\)"):
        ditto.predict(x)
    with pytest.raises(ConfigError, match="unknown client '7'"):
        ditto.predict(x, client=7)
    with pytest.raises(DataError, match=r"one row of shape \(8, 8, 1\)"):
        ditto.predict(x[0], client=0)
    with pytest.raises(DataError, match=r"rows have the shape \(3,\)"):
        ditto.predict(np.zeros((2, 3)), client=0)
    opened = Run.open(ditto.folder.path)
    with pytest.raises(RunError, match="without its rows"):
        opened.evaluate()
    with pytest.raises(RunError, match="predicts from its own rows"):
        Run.open(runs["knnper"].folder.path, data=False).predict(x, client=0)


def test_a_run_made_in_python_is_opened_with_what_it_was_made_of(tmp_path):
    federation = unalike.load("digits", clients=2, samples=60)
    model = unalike.models.linear(input_shape=(8, 8, 1), outputs=10)
    task = unalike.Task.classification(model, classes=10)
    run = unalike.train(federation, task, unalike.FedAvg(), rounds=1, out=tmp_path / "run")
    with pytest.raises(ConfigError, match="made in Python"):
        Run.open(tmp_path / "run")
    again = Run.open(tmp_path / "run", task=task, algorithm=unalike.FedAvg())
    np.testing.assert_array_equal(again.predict(federation.test.x), run.predict(federation.test.x))


def test_a_run_shows_itself(runs):
    run = runs["fedavg"]
    assert "<table>" in run._repr_html_()
    assert len(run.plot().axes) == 2
    assert run.plot()._repr_png_().startswith(b"\x89PNG")
    assert list(run.to_pandas().index) == [0, 1, 2]
    assert list(run.to_pandas("clients").index) == ["0", "1", "2"]
    with pytest.raises(ConfigError, match="unknown metric"):
        run.plot("test_accurracy")


# Which methods look at rows to predict -------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(algorithm_registry) - {"mocha", "fgpr"}))
def test_methods_say_whether_they_predict_from_rows(name):
    """The traced predictor is asked whether rows reach its outputs."""
    from jax._src.interpreters.partial_eval import dce_jaxpr

    federation = unalike.load("digits", clients=3, samples=60)
    model = unalike.models.mlp_norm if name == "fedbn" else unalike.models.mlp
    task = unalike.Task.classification(model(4, input_shape=(8, 8, 1), outputs=10), classes=10)
    if name == "fem-omd-gaussian":
        task = unalike.Task.of(federation, "gaussian")
    algorithm = algorithm_registry.make(name).prepare(task, federation)
    if not (algorithm.personalized or algorithm.decentralized):
        assert not algorithm.needs.rows_to_predict
        return
    setting = Setting(federation, task, algorithm, 0)
    message, data = message_template(setting), client_shapes(federation.train.x, federation.train.y)
    if algorithm.decentralized:
        message = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), message)
    memory = jax.eval_shape(lambda m: algorithm.init_client(task, m, jax.random.key(0)), message)
    rows = {"x": data.x, "y": data.y}

    def predictor(rows, message, memory, data):
        own = algorithm.predictor(task, message, memory, replace(data, **rows), data.key)
        return algorithm.predict(task, own, jax.numpy.zeros((1, 8, 8, 1)))

    traced = jax.make_jaxpr(predictor)(rows, message, memory, data).jaxpr
    used = dce_jaxpr(traced, [True] * len(traced.outvars))[1]
    assert any(used[:2]) == algorithm.needs.rows_to_predict


def test_a_model_for_all_needs_no_checkpoint(runs, tmp_path):
    import shutil

    for method in ("fedavg", "ditto"):
        shutil.copytree(runs[method].folder.path, tmp_path / method)
        shutil.rmtree(tmp_path / method / "checkpoints")
    x = runs["fedavg"].setting.federation.test.x
    np.testing.assert_array_equal(Run.open(tmp_path / "fedavg").predict(x), runs["fedavg"].predict(x))
    with pytest.raises(RunError, match="no checkpoint, without which ditto cannot predict"):
        Run.open(tmp_path / "ditto")
