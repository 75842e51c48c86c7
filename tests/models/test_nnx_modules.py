"""Does a module of Flax NNX predict, drop out and keep statistics through Unalike as on its own?"""

import jax
import numpy as np
import optax
import pytest
from flax import nnx

from unalike.core import pytrees
from unalike.errors import ConfigError
from unalike.models import Batch, Task, from_nnx

X = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
Y = np.random.default_rng(1).integers(0, 3, 6)


class Net(nnx.Module):
    def __init__(self, rngs, norm=True, rate=0.0):
        self.first = nnx.Linear(4, 5, rngs=rngs)
        self.norm = nnx.BatchNorm(5, momentum=0.9, rngs=rngs) if norm else nnx.LayerNorm(5, rngs=rngs)
        self.drop = nnx.Dropout(rate, rngs=rngs)
        self.last = nnx.Linear(5, 3, rngs=rngs)

    def __call__(self, x):
        return self.last(self.drop(nnx.relu(self.norm(self.first(x)))))


def test_a_batch_trains_weights_and_statistics_as_flax_does():
    module = Net(nnx.Rngs(3))
    task = Task.classification(module, 3, state="average")
    params = task.init(jax.random.key(0))
    loss, gradient, after = jax.jit(task.learn)(params, Batch.of(X, Y, key=jax.random.key(1)))
    module.eval()
    assert np.allclose(task.apply(params, X), module(X), atol=1e-6)
    module.train()

    def entropy(net):
        return optax.softmax_cross_entropy_with_integer_labels(net(X), Y).mean()

    value, slope = nnx.value_and_grad(entropy)(module)
    theirs = value, nnx.to_pure_dict(slope), nnx.to_pure_dict(nnx.state(module, nnx.BatchStat))
    assert pytrees.largest_difference((loss, gradient, after), theirs) < 1e-6


def test_padding_does_not_count_in_the_statistics():
    task = Task.classification(Net(nnx.Rngs(3)), 3, state="local")
    params = task.init(jax.random.key(0))
    few = Batch.of(X[:4], Y[:4])
    padded = Batch.of(np.r_[X[:4], 100 + X[4:]], Y, np.r_[np.ones(4), 0, 0])._replace(size=few.size)
    assert (
        pytrees.largest_difference(jax.jit(task.learn)(params, few), jax.jit(task.learn)(params, padded))
        < 1e-5
    )


def test_a_module_is_a_start_and_a_function_makes_one_for_each_seed():
    one, each = from_nnx(Net(nnx.Rngs(0), norm=False)), from_nnx(lambda rngs: Net(rngs, norm=False))
    first, second = (
        [np.asarray(model.init(jax.random.key(seed))["last"]["kernel"]) for seed in (0, 1)]
        for model in (one, each)
    )
    assert np.array_equal(*first)
    assert not np.array_equal(*second)


def test_dropout_draws_in_training_alone():
    task = Task.classification(Net(nnx.Rngs(0), norm=False, rate=0.5), 3)
    params = task.init(jax.random.key(0))
    losses = [
        float(task.loss(params, Batch.of(X, Y, key=k))) for k in (None, *jax.random.split(jax.random.key(1)))
    ]
    assert len(set(losses)) == 3
    assert losses[0] == pytest.approx(float(task.losses(params, X, Y).mean()), abs=1e-6)


def test_running_statistics_are_a_choice():
    with pytest.raises(ConfigError, match=r"running statistics.*'average'.*'local'"):
        Task.classification(Net(nnx.Rngs(0)), 3)
