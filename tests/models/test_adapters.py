"""Does whatever a person has become a model, without anything being said twice?"""

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import unalike
from unalike import ConfigError, Federation, Task
from unalike.core import pytrees
from unalike.experiments.build import make_task
from unalike.experiments.config import Experiment
from unalike.models import linear


class Flat(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(10)(x.reshape(len(x), -1))


class FlatEquinox(eqx.Module):
    layer: eqx.nn.Linear

    def __init__(self, key):
        self.layer = eqx.nn.Linear(64, 10, key=key)

    def __call__(self, x):
        return self.layer(jnp.ravel(x))


class FlatNNX(nnx.Module):
    def __init__(self, rngs):
        self.layer = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, x):
        return self.layer(x.reshape(len(x), -1))


PLAIN = linear(input_shape=(8, 8, 1), outputs=10)
GIVEN = [
    "mlp:5",
    PLAIN,
    (PLAIN.init, PLAIN.apply),
    Flat(),
    FlatEquinox,
    FlatEquinox(jax.random.key(0)),
    FlatNNX,
    FlatNNX(nnx.Rngs(0)),
]


@pytest.fixture(scope="module")
def digits():
    return unalike.load("digits", clients=3, seed=0)


@pytest.mark.parametrize("given", GIVEN, ids=lambda given: type(given).__name__)
def test_a_task_needs_only_clients_and_a_model(digits, given):
    task = Task.of(digits, given)
    params = jax.eval_shape(task.init, jax.random.key(0))
    assert jax.eval_shape(task.apply, params, digits.train.x[:2]).shape == (2, 10)
    assert list(task.metrics) == ["accuracy"]


def test_it_is_the_task_of_the_command_line(digits):
    ours = Task.of(digits, "mlp:7", l2=0.1, metrics=("f1",))
    theirs = make_task(Experiment(data="digits", model="mlp:7", l2=0.1, metrics="f1"), digits)
    assert pytrees.largest_difference(*(task.init(jax.random.key(0)) for task in (ours, theirs))) == 0
    assert (ours.l2, list(ours.metrics)) == (theirs.l2, list(theirs.metrics))


def test_targets_that_are_no_classes_make_a_regression():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 4)).astype(np.float32), rng.normal(size=(6, 2)).astype(np.float32)
    task = Task.of(Federation.from_clients({"a": rows, "b": rows}), "linear")
    assert list(task.metrics) == ["rmse"]
    assert task.init(jax.random.key(0))["w"].shape == (2, 4)


def test_a_name_alone_says_nothing_of_sizes():
    with pytest.raises(ConfigError, match=r"Task.of\(federation, 'mlp:64'\)"):
        Task.classification("mlp:64", 10)
