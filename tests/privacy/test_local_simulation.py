"""Do simulated clients clip and hide their changes as a node of a deployment does?"""

import jax
import numpy as np
import pytest

import unalike
from unalike.aggregation.base import WeightedSum
from unalike.core import pytrees
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment
from unalike.privacy.accountant import Ledger, gaussian_epsilon
from unalike.privacy.local import LocalPrivacy
from unalike.privacy.local_simulation import LocalAccount, LocallyPrivate, add_noise
from unalike.timing import Step

CLIENTS = 3


@pytest.fixture(scope="module")
def federation():
    return unalike.load("digits", clients=CLIENTS, samples=150, seed=1).with_importance("equal")


@pytest.fixture(scope="module")
def task(federation):
    model = unalike.models.linear(input_shape=federation.input_shape, outputs=federation.classes)
    return unalike.Task.classification(model, federation.classes)


def moved(federation, task, privacy, rounds=1):
    method = LocallyPrivate(inner=unalike.FedAvg(), privacy=privacy)
    runs = [unalike.train(federation, task, method, rounds=r, evaluate_every=0) for r in (0, rounds)]
    change = pytrees.subtract(runs[1].message, runs[0].message)
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(change)]).astype(np.float64)


def test_the_mean_of_n_uploads_has_noise_of_the_node_s_deviation_over_root_n(federation, task):
    privacy = LocalPrivacy(1e-6, 0.5, 1e-5, sensitivity=1.0)
    found, expected = moved(federation, task, privacy), privacy.deviation / np.sqrt(CLIENTS)
    assert abs(found.std() / expected - 1) < 4 / np.sqrt(2 * len(found))


def test_without_noise_nobody_moves_the_model_by_more_than_the_clipping_norm(federation, task):
    silent = LocalPrivacy(0.01, 0.5, 1e-5, sensitivity=1e-12)
    assert np.linalg.norm(moved(federation, task, silent)) <= 0.01 * (1 + 1e-5)


def test_clients_draw_noise_of_their_own(federation, task):
    method = LocallyPrivate(inner=unalike.FedAvg(), privacy=LocalPrivacy(1.0, 0.5, 1e-5))
    one, other = jax.random.key(1), jax.random.key(2)
    zeros = {"w": np.zeros(5, np.float32)}
    assert method.name == "fedavg"
    assert not np.array_equal(add_noise(zeros, 1.0, one)["w"], add_noise(zeros, 1.0, other)["w"])


def test_every_upload_is_charged_by_the_deviation_over_the_sensitivity():
    ledger = Ledger(3)
    account = LocalAccount(WeightedSum(), 4.0, ledger)
    step = Step(0, np.array([0, 2]), np.zeros(2), np.array([0.9, 0.1]))
    account.observe(step, {"accepted": np.ones(2)})
    np.testing.assert_allclose(ledger.charges, [1 / 16, 0, 1 / 16])  # whatever the server lets them weigh


def test_nothing_of_training_is_reported_beside_noisy_uploads_and_what_is_spent_is_counted():
    described = {"clients": 3, "samples": 100, "model": "linear", "rounds": 2, "local_dp": "1,0.5,1e-5"}
    run = run_experiment(make_experiment(described))
    assert "train_loss" not in run.metrics()
    multiplier = LocalPrivacy(1.0, 0.5, 1e-5).deviation / 2
    expected = gaussian_epsilon(multiplier / np.sqrt(2), 1e-5)
    if expected is not None:
        assert run.metrics()["local_epsilon"][-1] == pytest.approx(expected)


def test_methods_whose_uploads_are_no_models_are_refused():
    described = {"clients": 3, "samples": 100, "model": "linear", "rounds": 1, "local_dp": "1,0.5,1e-5"}
    with pytest.raises(unalike.ConfigError, match="local privacy bounds how an upload differs"):
        run_experiment(make_experiment({**described, "algorithm": "ifca"}))
