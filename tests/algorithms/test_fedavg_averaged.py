"""Is the averaged model the mean of the models before each round, and does the ball hold them?"""

import jax
import numpy as np
import pytest

import unalike
from unalike import ConfigError, FedAvg, FedProx, LocalWork, MemoryStream, Optimizer, Scaffold
from unalike.algorithms import FedAvgAveraged
from unalike.core.pytrees import largest_difference, nbytes, squared_norm
from unalike.models import linear

WORK = {"work": LocalWork(steps=2, batch_size=8), "optimizer": Optimizer("sgd", 0.1)}
STREAM = ("constant:4,0.25", "fifo:9", "fixed:0.4")


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=8, partition="dirichlet:0.5", samples=400, seed=1)


@pytest.fixture(scope="module")
def task():
    return unalike.Task.classification(linear(input_shape=(8, 8, 1), outputs=10), classes=10)


def train(federation, task, algorithm, words=STREAM, rounds=6, **options):
    stream = MemoryStream(*words) if words else None
    return unalike.train(
        federation,
        task,
        algorithm,
        rounds=rounds,
        stream=stream,
        **{"seed": 1, "evaluate_every": 0, **options},
    )


@pytest.mark.parametrize("words", [STREAM, None])
def test_the_average_is_the_mean_of_the_models_before_each_round(federation, task, words):
    plain = train(federation, task, FedAvg(**WORK), words, keep_history=True)
    averaged = train(federation, task, FedAvgAveraged(**WORK), words)
    assert largest_difference(plain.state["params"], averaged.state["params"]) < 1e-6
    models = [plain.history.state(t)["params"] for t in range(6)]
    mean = jax.tree.map(lambda *leaves: np.mean(leaves, axis=0), *models)
    assert largest_difference(mean, averaged.state["average"]) < 1e-6


def test_clients_predict_with_the_average_or_the_last_model(federation, task):
    both = [train(federation, task, FedAvgAveraged(**WORK, average=flag)) for flag in (True, False)]
    assert largest_difference(both[0].state, both[1].state) == 0
    plain = train(federation, task, FedAvg(**WORK))
    assert both[1].final()["test_loss"] == pytest.approx(plain.final()["test_loss"])
    assert both[0].final()["test_loss"] != pytest.approx(plain.final()["test_loss"])


def test_only_the_model_is_sent(federation, task):
    run = train(federation, task, FedAvgAveraged(**WORK), None)
    assert run.metrics()["bytes_down"][1] == 8 * nbytes(run.state["params"])


def test_models_stay_in_the_ball_and_a_large_one_changes_nothing(federation, task):
    small = train(federation, task, FedAvgAveraged(**WORK, radius=0.5), keep_history=True)
    lengths = [float(squared_norm(small.history.state(t)["params"])) ** 0.5 for t in range(7)]
    assert max(lengths) == pytest.approx(0.5)
    free, large = (train(federation, task, FedAvgAveraged(**WORK, radius=r)) for r in (0.0, 1e6))
    assert largest_difference(free.state, large.state) == 0


@pytest.mark.parametrize("radius", [-1.0, float("nan")])
def test_a_radius_that_is_none_is_refused(radius):
    with pytest.raises(ConfigError, match="radius"):
        FedAvgAveraged(radius=radius)


def test_a_round_in_which_nobody_counts_adds_nothing_to_the_average(federation, task):
    words = ("constant:0.5", "replace", "uniform")  # a row in every other round
    run = train(federation, task, FedAvgAveraged(**WORK), words, rounds=6)
    assert float(run.state["counted"]) == pytest.approx(3.0)


# Other methods on streams ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [FedProx, Scaffold, FedAvgAveraged])
def test_a_full_memory_of_what_is_there_is_no_stream(federation, task, method):
    without = train(federation, task, method(**WORK), None)
    streamed = train(federation, task, method(**WORK), ("historical", None, "memory-size"))
    assert largest_difference(without.state, streamed.state) == 0


@pytest.mark.parametrize("method", [FedProx, Scaffold, FedAvgAveraged])
def test_methods_learn_from_streams(federation, task, method):
    run = train(federation, task, method(**WORK), rounds=30)
    assert run.final()["test_accuracy"] > 0.3  # three times chance; the average lags behind
