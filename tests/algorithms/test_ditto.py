"""Does Ditto train the global model of FedAvg, and beside it the personal models of its paper?"""

import numpy as np
import pytest

from unalike.algorithms import FedAvg, Local
from unalike.algorithms.ditto import Ditto
from unalike.errors import ConfigError

from . import naive
from .personalized import WORK, assert_agrees, descend, memory_of, same_model, simulate, trained

METHOD = Ditto(work=WORK, lam=0.7, personal_learning_rate=0.05)


def test_two_rounds_and_a_newcomer_equal_the_paper():
    def near(theta, own, batches):
        return descend(own, batches, 0.05, anchor=theta, mu=0.7)

    expected = simulate(
        lambda theta, own, batches: (descend(theta, batches), near(theta, own, batches)),
        lambda theta, batches: near(theta, theta, batches),
    )
    run = trained(METHOD)
    assert_agrees(run, expected)
    for client, own in expected.memories.items():
        assert np.allclose(naive.flat(memory_of(run, client)["params"]), own, atol=1e-5)
    assert memory_of(run, 2) is None


def test_the_global_model_is_that_of_fedavg():
    found, plain = (trained(a).state["params"] for a in (METHOD, FedAvg(work=WORK)))
    assert same_model(found, plain, atol=1e-7)


def test_without_a_pull_personal_models_are_trained_alone():
    free, alone = trained(Ditto(work=WORK, lam=0.0)), trained(Local(work=WORK))
    for client in (0, 1):  # those that started from the same model
        assert same_model(memory_of(free, client)["params"], memory_of(alone, client)["params"], atol=1e-7)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lam": -1.0}, r"lam must not be negative, but is -1\.0\."),
        ({"lam": float("nan")}, "lam must not be negative, but is nan"),
        ({"newcomer_epochs": -1}, "newcomer_epochs must not be negative"),
        ({"personal_learning_rate": -0.1}, "learning rate must not be negative"),
    ],
)
def test_bad_settings_are_refused_in_words(settings, words):
    with pytest.raises(ConfigError, match=words):
        Ditto(**settings)
