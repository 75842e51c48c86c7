"""A training that diverges says so once, and leaves the last sound model behind."""

import warnings

import jax
import numpy as np
import pytest

import unalike
from unalike import FedAvg, Federation, LocalWork, Optimizer, Task
from unalike.errors import DivergenceWarning
from unalike.report.run_report import headline
from unalike.runs import Record, RunFolder
from unalike.training.divergence import Divergence


@pytest.fixture(scope="module")
def federation():
    rng = np.random.default_rng(0)
    clients = {}
    for name in "abc":
        x = rng.normal(size=(30, 3)).astype(np.float32)
        clients[name] = (x, x.sum(axis=1))
    return Federation.from_clients(clients)


TASK = Task.regression(unalike.models.linear(input_shape=(3,), outputs=1))


def trained(federation, rate, **options):
    work, optimizer = LocalWork(steps=5, batch_size=8), Optimizer("sgd", rate)
    return unalike.train(
        federation, TASK, FedAvg(work=work, optimizer=optimizer), rounds=12, evaluate_every=1, **options
    )


def diverged(run):
    return [event for event in run.events() if event["kind"] == "diverged"]


def test_a_training_that_does_not_diverge_says_nothing(federation):
    assert diverged(trained(federation, 0.1)) == []


def test_divergence_is_said_once_and_without_warnings_of_numpy(federation):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DivergenceWarning)
        run = trained(federation, 30.0)
        run.client_metrics()
    (event,) = diverged(run)
    losses = run.metrics()["test_loss"]
    before = losses[: event["round"]]
    assert (before <= 1000 * (losses[0] + 1)).all()
    assert not losses[event["round"]] <= 1000 * (losses[0] + 1)


def test_the_model_that_is_kept_is_the_last_sound_one(federation, tmp_path):
    run = trained(federation, 3.0, out=tmp_path / "run")
    (event,) = diverged(run)
    kept = next(e["of_round"] for e in run.events() if e["kind"] == "kept model")
    assert kept == event["round"] - 1
    model = RunFolder.open(tmp_path / "run").load_model(run.message)
    expected = unalike.train(federation, TASK, run.setting.algorithm, rounds=kept, evaluate_every=1).message
    for ours, theirs in zip(jax.tree.leaves(model), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_a_resumed_run_does_not_say_it_again(federation, tmp_path):
    trained(federation, 30.0, out=tmp_path / "run")
    again = unalike.train(
        federation,
        TASK,
        FedAvg(work=LocalWork(steps=5, batch_size=8), optimizer=Optimizer("sgd", 30.0)),
        rounds=14,
        evaluate_every=1,
        out=tmp_path / "run",
        resume=True,
    )
    assert len(diverged(again)) == 1


def test_the_headline_of_a_diverged_run_is_not_the_untrained_model():
    metrics = {"round": np.arange(3), "test_rmse": np.array([1.4, np.inf, np.inf])}
    events = [{"kind": "diverged", "round": 1, "metric": "test_loss", "value": "inf"}]
    cards = headline(metrics, {"client": np.zeros(0)}, {"seconds": np.zeros(0)}, events)
    assert cards["Test RMSE"] == "diverged in round 1"


@pytest.mark.parametrize(
    ("value", "wrong"), [(2000.0, True), (1900.0, False), (np.nan, True), (np.inf, True)]
)
def test_a_thousand_times_the_first_loss_is_divergence(value, wrong):
    divergence = Divergence(Record(":memory:"))
    assert divergence.look(0, {"test_loss": 0.99}, "untrained") == []
    assert bool(divergence.look(5, {"test_loss": value}, "trained")) == wrong
    assert divergence.lost == wrong
    assert divergence.sound == ((0, "untrained") if wrong else (5, "trained"))
