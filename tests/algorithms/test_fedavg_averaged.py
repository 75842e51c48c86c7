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


@pytest.mark.parametrize("words", [STREAM, None, ("poisson:3", None, "memory-size")])
def test_the_average_is_the_mean_of_the_models_before_each_round(federation, task, words):
    """By q(t) = W(t) / sum_s W(s), with W(t) counted here row by row."""
    plain = train(federation, task, FedAvg(**WORK), words, keep_history=True)
    averaged = train(federation, task, FedAvgAveraged(**WORK), words)
    assert largest_difference(plain.state["params"], averaged.state["params"]) < 1e-6
    models = [plain.history.state(t)["params"] for t in range(6)]
    stream, q = MemoryStream(*words) if words else None, np.ones(6)
    if stream is not None:
        stream.begin(federation, 1, 6)
        q = np.array([stream.totals(t).sum() for t in range(6)])
        if words[2] == "memory-size":
            q = np.array([len(stream.select(t, np.arange(8)).rows) for t in range(6)], float)
    mean = jax.tree.map(lambda *leaves: np.tensordot(q / q.sum(), np.stack(leaves), 1), *models)
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
    words = ("constant:0.5", "replace", "memory-size")  # a row in every other round
    run = train(federation, task, FedAvgAveraged(**WORK), words, rounds=6)
    assert float(run.state["counted"]) == pytest.approx(3.0 * 8)


def test_rounds_of_a_growing_memory_count_by_their_rows():
    """Two clients that learn the mean of 1 and 2 from rows that keep arriving: W(t) = 8, 16, ..., 40."""
    data = {str(c): {"train": (np.ones((40, 1)), np.full(40, 1.0 + c))} for c in range(2)}
    federation = unalike.Federation.from_clients(data, classes=None)
    task = unalike.Task.regression(linear(input_shape=(1,), outputs=1))
    method = FedAvgAveraged(work=LocalWork(steps=1, batch_size=0), optimizer=Optimizer("sgd", 0.1))
    run = train(
        *(federation, task, method, ("constant:4", None, "memory-size"), 5), seed=0, keep_history=True
    )
    before = [float(run.history.state(t)["params"]["w"].sum()) for t in range(5)]
    wanted = np.dot([8, 16, 24, 32, 40], before) / 120
    assert float(run.state["average"]["w"].sum()) == pytest.approx(wanted, abs=1e-6)
    assert wanted != pytest.approx(np.mean(before), abs=1e-2)


# Other methods on streams ---------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [FedProx, Scaffold, FedAvgAveraged])
def test_a_full_memory_of_what_is_there_is_no_stream(federation, task, method):
    without = train(federation, task, method(**WORK), None)
    streamed = train(federation, task, method(**WORK), ("historical", None, "memory-size"))
    learned = ("params", "average") if method is FedAvgAveraged else tuple(without.state)
    assert largest_difference(*([run.state[part] for part in learned] for run in (without, streamed))) == 0


@pytest.mark.parametrize("method", [FedProx, Scaffold, FedAvgAveraged])
def test_methods_learn_from_streams(federation, task, method):
    run = train(federation, task, method(**WORK), rounds=30)
    assert run.final()["test_accuracy"] > 0.3  # three times chance; the average lags behind
