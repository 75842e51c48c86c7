"""Can one node steer a training by the metrics that it reports?"""

from dataclasses import replace

import numpy as np
import pytest

import unalike
from unalike.core.pytrees import largest_difference
from unalike.deploy.metric_range import is_possible
from unalike.models import Task

from .in_process_nodes import Village
from .test_server import served


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=4, partition="dirichlet:0.5", samples=200, seed=1)


@pytest.fixture
def honest(federation, tmp_path):
    return served(Village(federation, tmp_path / "honest"), tmp_path / "h", rounds=3)


def lied_to(federation, folder, lie, **values):
    village = Village(federation, folder / "nodes")
    village.mischief["node-2"] = lie
    return served(village, folder / "run", **{"rounds": 3, **values})


def claiming(**values):
    def lie(request, answer):
        if answer.kind == "upload" and "train_loss" in values:
            loss = np.full_like(answer.arrays["report/train_loss"], values["train_loss"])
            return replace(answer, arrays={**answer.arrays, "report/train_loss": loss})
        return replace(answer, numbers={**answer.numbers, **values}) if answer.kind == "metrics" else answer

    return lie


@pytest.mark.parametrize(
    "lie",
    [
        {"loss": 1e308, "accuracy": 1e308},
        {"loss": -1e308},
        {"accuracy": 1.5},
        {"accuracy": -0.1},
        {"accuracy": float("inf")},
        {"loss": 1e11, "train_loss": 1e30},
        {"loss": -1e11, "accuracy": 1.0},
    ],
    ids=str,
)
def test_whatever_one_node_claims_training_goes_on_to_the_same_model(federation, honest, tmp_path, lie):
    run = lied_to(federation, tmp_path, claiming(**lie))
    assert largest_difference(run.state, honest.state) == 0
    assert np.isfinite(run.metrics()["test_accuracy"]).all()
    assert all(0 <= value <= 1 for value in run.metrics()["test_accuracy"])
    assert "diverged" not in {event["kind"] for event in run.events()}
    named = {event["name"] for event in run.events() if event["kind"] == "impossible metric"}
    assert named == (
        {"node-2"} if abs(lie.get("loss", 0)) > 1e12 or not 0 <= lie.get("accuracy", 0) <= 1 else set()
    )


def test_one_node_cannot_end_a_training_early_or_choose_the_best_model(federation, honest, tmp_path):
    best = honest.metrics()["median_test_accuracy"].max()
    claimed = lied_to(
        federation, tmp_path, claiming(accuracy=1.0, loss=0.0), stop_at=f"accuracy={best + 0.05}"
    )
    assert claimed.rounds == 3  # the mean over rows would have reached it
    assert claimed.metrics()["test_accuracy"].max() > best


def test_medians_over_three_nodes_stay_between_the_honest_ones(federation, tmp_path):
    run = lied_to(federation, tmp_path, claiming(accuracy=1.0))
    for round_ in range(1, 4):
        values = run.client_metrics(round_)["test_accuracy"]
        others = np.delete(values, 2)
        assert others.min() <= run.metrics()["median_test_accuracy"][round_] <= others.max()


def test_ranges_of_metrics(federation):
    task = Task.of(federation, "linear", metrics=["accuracy", "confusion"])
    assert is_possible(task, "accuracy", 1.0)
    assert not is_possible(task, "accuracy", 1.01)
    assert not is_possible(task, "loss", np.nan)
    assert is_possible(task, "loss", -3.0)  # a likelihood can have one
    assert not is_possible(task, "confusion", np.full((10, 10), 2.0))
