"""Is the regret of a run what was lost to a rival that never changes?"""

import numpy as np
import pytest

import unalike
from unalike import ConfigError, MemoryStream
from unalike.report.regret_report import regret_cards, regret_figures

ROUNDS = 6


def federation():
    return unalike.load("gaussians:4,5,3", clients=4, partition="iid", samples=240, seed=2)


def trained(method="fedavg", regret="last", **options):
    return unalike.train(
        federation(),
        "linear",
        method,
        rounds=ROUNDS,
        stream=MemoryStream("constant:3", "replace"),
        regret=regret,
        seed=1,
        **options,
    )


def test_against_the_last_model_by_hand():
    run = trained()
    metrics, stream, task = run.metrics(), run.setting.stream, run.setting.task
    total = right = 0.0
    for round in range(ROUNDS + 1):
        rows = stream.arriving(round, np.arange(4)).rows
        x, y = run.setting.federation.train.x[rows], run.setting.federation.train.y[rows]
        total += metrics["prequential_loss"][round] - float(task.losses(run.state["params"], x, y).mean())
        right += (run.predict(x) == y).mean() - metrics["prequential_accuracy"][round]
        assert metrics["regret_loss"][round] == pytest.approx(total, abs=1e-5)
        assert metrics["regret_accuracy"][round] == pytest.approx(right, abs=1e-6)


def test_the_pooled_rival_is_the_same_for_all_methods():
    one, other = trained("fedavg", "pooled:3"), trained("fed-omd", "pooled:3")
    apart = [
        np.cumsum(run.metrics()["prequential_loss"]) - run.metrics()["regret_loss"] for run in (one, other)
    ]
    np.testing.assert_allclose(*apart, atol=1e-5)


def test_a_run_that_never_changes_has_no_regret_of_its_last_model():
    run = trained(optimizer_of_zero())
    np.testing.assert_allclose(run.metrics()["regret_loss"], 0, atol=1e-6)


def optimizer_of_zero():
    return unalike.FedAvg(optimizer=unalike.Optimizer("sgd", 0.0))


def test_a_personal_method_is_measured_from_its_second_step_on():
    metrics = trained("fem-omd").metrics()
    measured = np.flatnonzero(np.isfinite(metrics["regret_loss"]))
    np.testing.assert_array_equal(measured, np.flatnonzero(np.isfinite(metrics["prequential_loss"])))
    assert measured.tolist() == [2, 4, 6]


def test_a_resumed_run_has_the_regret_of_one_that_was_never_stopped(tmp_path):
    whole = trained(out=tmp_path / "whole").metrics()
    plan = {"checkpoint_every": 2, "evaluate_every": 1}
    unalike.train(
        federation(), "linear", "fedavg", rounds=4, seed=1, regret="last", out=tmp_path / "part",
        stream=MemoryStream("constant:3", "replace"), **plan,
    )  # fmt: skip
    found = trained(out=tmp_path / "part", resume=True, **plan).metrics()
    np.testing.assert_allclose(found["regret_loss"], whole["regret_loss"], atol=1e-6)


@pytest.mark.parametrize(
    ("regret", "message"),
    [("best", "rival of a regret"), ("pooled:0", "from 1 to"), ("last:3", "last or pooled")],
)
def test_a_rival_that_is_none_is_refused(regret, message):
    with pytest.raises(ConfigError, match=message):
        trained(regret=regret)


def test_without_a_stream_there_is_no_regret():
    with pytest.raises(ConfigError, match="say how they arrive"):
        unalike.train(federation(), "linear", "fedavg", rounds=1, regret="last")


def test_the_page_shows_regret_and_how_it_grows():
    grown = {"round": np.arange(1, 41), "regret_loss": 2 * np.arange(1.0, 41) ** 0.5}
    assert regret_cards(grown) == {"Regret of loss": "12.6, like T^0.50"}
    assert list(regret_figures(grown)) == ["Regret"]
    assert regret_figures({"round": np.arange(3)}) == {}
