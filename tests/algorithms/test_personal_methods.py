"""Do clients that keep or tune a model of their own predict with exactly that?"""

import numpy as np
import pytest

from unalike.algorithms import FedAvg, FedAvgPlus, Local, LocalWork, Messages
from unalike.engine import LocalEngine, Memories, Setting
from unalike.engine.local.batches import plan_batches, round_up

from . import naive

SIZES, TEST = [5, 8, 3], [4, 2, 3]
WORK = LocalWork(epochs=2, batch_size=3, shuffle=False)


@pytest.fixture(scope="module")
def alone(federation, task):
    """Two rounds of local training in which client 2 takes part only once."""
    return naive.train(federation, task, Local(work=WORK), 2, participation=naive.Fixed([0, 1, 2], [1, 0]))


def own_model(federation, client, rounds):
    x, y = federation.train.client(client)
    return naive.descend(naive.zeros(), x, y, naive.in_order(len(x), 3, 2 * rounds), 0.1)


def test_training_alone_is_every_clients_own_descent(federation, alone):
    found, _ = alone.memories.gather(np.arange(3))
    for client, rounds in enumerate((2, 2, 1)):
        model = {name: leaf[client] for name, leaf in found["params"].items()}
        assert np.allclose(naive.flat(model), own_model(federation, client, rounds), atol=1e-5)


def test_training_alone_sends_nothing_and_leaves_the_server_as_it_was(alone):
    assert not alone.metrics()["bytes_up"][1:].any()
    assert not alone.metrics()["bytes_down"][1:].any()
    assert not naive.flat(alone.state["params"]).any()


def test_clients_that_train_alone_predict_with_their_own_model(federation, alone):
    found = alone.evaluate("test")
    for client, rounds in enumerate((2, 2, 1)):
        expected = naive.loss(own_model(federation, client, rounds), *federation.test.client(client))
        assert found["loss"][client] == pytest.approx(expected, abs=1e-5)


def test_rows_that_are_not_shuffled_are_tuned_on_in_their_order(federation, task):
    run = naive.train(federation, task, FedAvgPlus(work=WORK, tune_epochs=2), 0)
    found = run.evaluate("test")["loss"]
    for client in range(3):
        expected = naive.loss(own_model(federation, client, 1), *federation.test.client(client))
        assert found[client] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("epochs", "rate"), [(1, None), (2, 0.05), (0, None)])
def test_a_tuned_predictor_is_some_epochs_of_descent_from_the_global_model(federation, task, epochs, rate):
    algorithm = FedAvgPlus(work=LocalWork(batch_size=3), tune_epochs=epochs, tune_learning_rate=rate)
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(5, 3)).astype(np.float32)
    message = {"w": theta[:-1].T, "b": theta[-1]}
    setting = Setting(federation, task, algorithm, 6)
    found = LocalEngine(setting).evaluate(Messages(message), Memories({}, 3), "test", 2)
    clients = np.arange(3)
    work = LocalWork(epochs=epochs, batch_size=3)
    plan = plan_batches(work, federation.train.sizes, clients, 2, 6, round_up(8))
    for client in clients:
        x, y = federation.train.client(client)
        batches = [rows[rows >= 0] for rows in plan.positions[client, : plan.steps[client]]]
        tuned = naive.descend(theta.astype(np.float64), x, y, batches, rate or 0.1)
        expected = naive.loss(tuned, *federation.test.client(client))
        assert found["loss"][client] == pytest.approx(expected, abs=1e-5)


def test_the_global_model_does_not_notice_the_tuning(federation, task):
    tuned, plain = (
        naive.train(federation, task, algorithm, 2).state["params"]
        for algorithm in (FedAvgPlus(work=WORK), FedAvg(work=WORK))
    )
    assert np.allclose(naive.flat(tuned), naive.flat(plain), atol=1e-7)
