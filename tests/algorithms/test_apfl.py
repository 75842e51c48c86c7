"""Does APFL mix two models as its paper does, and is it FedAvg at one end and training alone at the other?"""

import numpy as np
import pytest

from unalike.algorithms import FedAvg, Local
from unalike.algorithms.apfl import APFL
from unalike.errors import ConfigError

from . import naive
from .personalized import RATE, WORK, assert_agrees, memory_of, same_model, simulate, trained


def mixed(theta, memory):
    own, alpha = memory
    return alpha * own + (1 - alpha) * theta


def train(theta, memory, batches, adaptive, moving=True):
    own, alpha = memory
    for x, y in batches:
        slope = naive.gradient(mixed(theta, (own, alpha)), x, y)
        share = alpha - RATE * np.sum((own - theta) * slope) if adaptive else alpha
        theta, own = theta - RATE * moving * naive.gradient(theta, x, y), own - RATE * alpha * slope
        alpha = np.clip(share, 0, 1)
    return theta, (own, alpha)


@pytest.mark.parametrize(("alpha", "adaptive"), [(0.3, False), (0.6, True)])
def test_two_rounds_and_a_newcomer_equal_the_paper(alpha, adaptive):
    expected = simulate(
        lambda theta, memory, batches: train(theta, memory, batches, adaptive),
        lambda theta, batches: train(theta, (theta, alpha), batches, adaptive, moving=False)[1],
        mixed,
        first=lambda theta: (theta, alpha),
    )
    run = trained(APFL(work=WORK, alpha=alpha, adaptive=adaptive))
    assert_agrees(run, expected)
    for client, (own, share) in expected.memories.items():
        assert np.allclose(naive.flat(memory_of(run, client)["params"]), own, atol=1e-5)
        assert memory_of(run, client)["alpha"] == pytest.approx(share, abs=1e-5)
        assert (abs(share - alpha) > 1e-4) == adaptive


def test_with_no_share_of_their_own_clients_predict_as_in_fedavg():
    found, plain = (
        trained(a).evaluate("test")["loss"] for a in (APFL(work=WORK, alpha=0.0), FedAvg(work=WORK))
    )
    assert np.allclose(found, plain, atol=1e-7)


def test_with_the_whole_share_personal_models_are_trained_alone():
    found, alone = trained(APFL(work=WORK, alpha=1.0)), trained(Local(work=WORK))
    for client in (0, 1):  # those that started from the same model
        assert same_model(memory_of(found, client)["params"], memory_of(alone, client)["params"], atol=1e-7)
    assert np.allclose(found.evaluate("test")["loss"][:2], alone.evaluate("test")["loss"][:2], atol=1e-6)


def test_the_global_model_is_that_of_fedavg():
    found, plain = (trained(a).state["params"] for a in (APFL(work=WORK, alpha=0.3), FedAvg(work=WORK)))
    assert same_model(found, plain, atol=1e-7)


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan")])
def test_a_share_that_is_none_is_refused(alpha):
    with pytest.raises(ConfigError, match="alpha must be between 0 and 1, but is"):
        APFL(alpha=alpha)
