"""Is FGPR by name the same process, in each client's own units?"""

import numpy as np
import pytest

import unalike
from unalike import ConfigError, Federation
from unalike.algorithms import algorithm_registry
from unalike.analytics.gaussian_process.kernels import Kernel
from unalike.analytics.gaussian_process.posterior import Posterior
from unalike.testing import check_algorithm


def clients(seed=0, offset=50.0):
    rng = np.random.default_rng(seed)
    data = {}
    for k in range(3):
        x = rng.normal(size=(24, 2))
        y = offset * k + (1 + k) * np.sin(x[:, 0]) + 0.1 * rng.normal(size=24)
        data[str(k)] = {"train": (x[:16], y[:16]), "test": (x[16:], y[16:])}
    return Federation.from_clients(data, classes=None)


def test_predictions_are_those_of_each_clients_rows_in_its_own_units():
    federation = clients()
    method = algorithm_registry.make("fgpr", kernel="matern:1.2", ard=True, local_steps=0)
    run = unalike.train(federation, "linear", method, rounds=1, evaluate_every=0)
    kernel = Kernel("matern:1.2", 2, ard=True)
    for k in range(3):
        x, y = federation.train.client(k)
        places, truth = federation.test.client(k)
        own = Posterior(kernel, kernel.vector(*method.start), np.asarray(x), (y - y.mean()) / y.std())
        mean = y.mean() + y.std() * own.predict(np.asarray(places)).mean
        wanted = np.sqrt(np.mean((mean - truth) ** 2))
        assert run.evaluate("test")["rmse"][k] == pytest.approx(wanted, rel=1e-4)


def test_the_prior_is_learned_and_stays_the_same_when_outputs_are_moved():
    method = algorithm_registry.make("fgpr", optimizer=unalike.Optimizer("adam", 0.05))
    runs = [
        unalike.train(clients(offset=offset), "linear", method, rounds=15, seed=1, evaluate_every=0)
        for offset in (0.0, 1000.0)
    ]
    first, moved = (np.asarray(run.state["params"]) for run in runs)
    np.testing.assert_allclose(first, moved, atol=1e-4)
    assert np.exp(first[1]) < 0.3  # the noise began there


def test_it_keeps_the_contract():
    # The contract's test reads what is saved in single precision, and this method's vectors are doubles.
    skip = ("every engine", "order of clients", "no step no change", "state survives saving")
    assert check_algorithm(
        algorithm_registry.make("fgpr", local_steps=2),
        federation=clients(),
        task=unalike.Task.of(clients(), "linear"),
        skip=skip,
    )


def test_classes_and_images_are_refused():
    digits = unalike.load("digits", clients=3, samples=60)
    with pytest.raises(ConfigError, match="regression of rows of numbers"):
        unalike.train(digits, "linear", "fgpr", rounds=1)
