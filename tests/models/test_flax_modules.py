"""Does a Flax module predict, drop out and keep statistics through Unalike as on its own?"""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from unalike.core import pytrees
from unalike.errors import ConfigError
from unalike.models import Batch, Stateful, Task, from_flax

from .filled import filled

X = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
Y = np.random.default_rng(1).integers(0, 3, 6)


def entropy(logits):
    return optax.softmax_cross_entropy_with_integer_labels(logits, Y).mean()


class Normalized(nn.Module):
    rate: float = 0.0

    @nn.compact
    def __call__(self, x, train=False):
        h = nn.BatchNorm(use_running_average=not train, momentum=0.9)(nn.Dense(5)(x))
        return nn.Dense(3)(nn.Dropout(self.rate, deterministic=not train)(nn.relu(h)))


class Dropped(nn.Module):
    @nn.compact
    def __call__(self, x, deterministic=True):
        return nn.Dense(3)(nn.Dropout(0.5, deterministic=deterministic)(x))


def test_a_flax_module_gives_the_same_outputs_and_gradients():
    module = nn.Sequential([nn.Dense(5), nn.tanh, nn.Dense(3)])
    task = Task.classification(from_flax(module, (4,)), classes=3)
    params = filled(task)
    theirs = jax.eval_shape(module.init, jax.random.key(0), X)["params"]
    assert jax.tree.map(jnp.shape, params) == jax.tree.map(jnp.shape, theirs)

    @jax.jit
    def both(p):
        run = lambda q: module.apply({"params": q}, X)  # noqa: E731
        ours = task.apply(p, X), task.loss_and_gradient(p, Batch.of(X, Y))
        return ours, (run(p), jax.value_and_grad(lambda q: entropy(run(q)))(p))

    assert pytrees.largest_difference(*both(params)) < 1e-6


def test_a_flax_module_may_read_integers():
    model = from_flax(nn.Sequential([nn.Embed(7, 2), lambda h: h.mean(1)]), (5,), jnp.int32)
    params = model.init(jax.random.key(0))
    x = np.arange(10).reshape(2, 5) % 7
    table = np.asarray(jax.tree.leaves(params)[0])
    assert np.allclose(model.apply(params, x), table[x].mean(1), atol=1e-6)


def test_dropout_draws_in_training_alone():
    task = Task.classification(Dropped(), 3, input_shape=(4,))
    params = jax.jit(task.init)(jax.random.key(0))
    quiet, loud = (float(task.loss(params, Batch.of(X, Y, key=key))) for key in (None, jax.random.key(1)))
    assert np.allclose(task.apply(params, X), Dropped().apply({"params": params}, X), atol=1e-6)
    assert quiet == pytest.approx(float(entropy(task.apply(params, X))), abs=1e-6) != loud


def test_a_batch_trains_weights_and_statistics_as_flax_does():
    module = Normalized()
    task = Task.classification(module, 3, input_shape=(4,), state="average", l2=0.3)
    variables = jax.jit(module.init)(jax.random.key(0), X)
    params = jax.jit(task.init)(jax.random.key(0))
    assert pytrees.largest_difference(params, Stateful(variables["params"], _statistics(variables))) == 0

    def loss(weights):
        whole = {**variables, "params": weights}
        logits, after = module.apply(whole, X, train=True, mutable=["batch_stats"])
        return entropy(logits) + 0.15 * pytrees.squared_norm(weights), after

    (value, after), slope = jax.jit(jax.value_and_grad(loss, has_aux=True))(variables["params"])
    assert (
        pytrees.largest_difference(jax.jit(task.learn)(params, Batch.of(X, Y)), (value, slope, after)) < 1e-6
    )
    assert np.allclose(task.apply(params, X), module.apply(variables, X), atol=1e-6)


def test_padding_does_not_count_in_the_statistics():
    task = Task.classification(Normalized(), 3, input_shape=(4,), state="local")
    params = jax.jit(task.init)(jax.random.key(0))
    few = Batch.of(X[:4], Y[:4])
    padded = Batch.of(np.r_[X[:4], 100 + X[4:]], Y, np.r_[np.ones(4), 0, 0])._replace(size=few.size)
    assert (
        pytrees.largest_difference(jax.jit(task.learn)(params, few), jax.jit(task.learn)(params, padded))
        < 1e-5
    )
    nothing = jax.jit(task.learn)(params, Batch.of(X, Y, np.zeros(6)))
    assert pytrees.largest_difference(nothing[1:], (pytrees.zeros_like(params.weights), params.state)) == 0


def test_state_is_a_choice():
    with pytest.raises(ConfigError, match=r"keeps state \(batch_stats\).*'average'.*'local'"):
        from_flax(Normalized(), (4,))
    with pytest.raises(ConfigError, match="did you mean 'average'"):
        from_flax(Normalized(), (4,), state="averaged")
    deaf = nn.Sequential([nn.Dense(3), nn.BatchNorm(use_running_average=False)])
    with pytest.raises(ConfigError, match="not told when it is trained"):
        from_flax(deaf, (4,), state="average")


def test_a_method_with_gradients_of_its_own_is_told_why_not():
    task = Task.classification(Normalized(), 3, input_shape=(4,), state="average")
    with pytest.raises(ConfigError, match="gradients on its own"):
        task.loss_and_gradient(task.init(jax.random.key(0)), Batch.of(X, Y))


def _statistics(variables):
    return {"batch_stats": variables["batch_stats"]}
