"""Does a challenge tell who trains from who makes noise, and from who replays the model's own way?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike import FedAvg
from unalike.algorithms import Messages
from unalike.engine import LocalEngine, Memories, Setting
from unalike.timing import Step
from unalike.trust.monitor.challenge import challenge

from .free_riders import CLIENTS, WORK, FreeRider, digits

KEYS = [jax.random.key(k) for k in range(4)]


def asker(algorithm, client):
    """A function that lets a client of the federation work on a message, in a new round each time."""
    federation, task = digits()
    engine = LocalEngine(Setting(federation, task, algorithm, 1))
    rounds = iter(range(5, 10**6))

    def ask(message):
        number = next(rounds)
        step = Step(number, np.array([client]), np.array([number]), np.ones(1))
        done = engine.visit(step, Messages(message), Memories({}, CLIENTS), True)
        return jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), done.uploads.upload)

    return ask


@pytest.fixture(scope="module")
def model():
    federation, task = digits()
    return unalike.train(federation, task, FedAvg(**WORK), rounds=5, seed=1, evaluate_every=0).message


@pytest.mark.parametrize("client", [0, 3, CLIENTS - 1])
def test_who_trains_answers_to_the_model_it_is_sent(model, client):
    ask = asker(FedAvg(**WORK), client)
    assert all(challenge(ask, model, key).fresh for key in KEYS)


def test_noise_does_not_know_where_it_starts_from(model):
    ask = asker(FreeRider(lie="noise", **WORK), CLIENTS - 1)
    answers = [challenge(ask, model, key) for key in KEYS]
    assert not any(answer.fresh for answer in answers)
    assert max(abs(answer.pull) for answer in answers) < 4 / np.sqrt(650)


def test_a_replay_goes_on_in_the_direction_of_the_offset(model):
    before = jax.tree.map(lambda leaf: 0.9 * leaf, model)
    replay = lambda sent: jax.tree.map(lambda a, b: a + 0.9 * (a - b), sent, before)  # noqa: E731
    for key in KEYS:
        assert challenge(replay, model, key).pull == pytest.approx(-1, abs=1e-4)


def test_sending_the_model_back_is_not_fresh(model):
    answer = challenge(lambda sent: sent, model, KEYS[0])
    assert np.isnan(answer.pull)
    assert not answer.fresh


def test_on_a_quadratic_the_pull_is_one():
    """Every step goes straight back: the update's change is the offset, scaled by a negative number."""
    answer = challenge(lambda w: w + 0.3 * (2.0 - w), jnp.zeros(50), KEYS[1])
    assert answer.pull == pytest.approx(1, abs=1e-5)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(unalike.ConfigError, match="other shapes"):
        challenge(lambda w: {"w": w}, jnp.zeros(3), KEYS[0])
    with pytest.raises(unalike.ConfigError, match="above 0"):
        challenge(lambda w: w, jnp.zeros(3), KEYS[0], deviation=0.0)
