"""Do Flax and Equinox modules predict the same through Unalike as on their own?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike import trees
from unalike.errors import ConfigError
from unalike.models import Batch, Task, from_equinox, from_flax

X = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
Y = np.random.default_rng(1).integers(0, 3, 6)


def test_a_flax_module_gives_the_same_outputs_and_gradients():
    nn = pytest.importorskip("flax.linen")
    module = nn.Sequential([nn.Dense(5), nn.tanh, nn.Dense(3)])
    task = Task.classification(from_flax(module, (4,)), classes=3)
    params = task.init(jax.random.key(3))
    theirs = module.init(jax.random.key(3), X)
    assert trees.largest_difference(params, theirs["params"]) == 0.0
    assert np.allclose(task.apply(params, X), module.apply(theirs, X), atol=1e-6)

    def loss(p):
        logits = module.apply({"params": p}, X)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), Y[:, None], 1).mean()

    _, gradient = task.loss_and_gradient(params, Batch.of(X, Y))
    assert trees.largest_difference(gradient, jax.grad(loss)(params)) < 1e-6


def test_a_flax_module_may_read_integers():
    nn = pytest.importorskip("flax.linen")
    model = from_flax(nn.Sequential([nn.Embed(7, 2), lambda h: h.mean(1)]), (5,), jnp.int32)
    params = model.init(jax.random.key(0))
    x = np.arange(10).reshape(2, 5) % 7
    table = np.asarray(jax.tree.leaves(params)[0])
    assert np.allclose(model.apply(params, x), table[x].mean(1), atol=1e-6)


def test_a_flax_module_with_batch_statistics_is_refused_in_words():
    nn = pytest.importorskip("flax.linen")
    model = from_flax(nn.Sequential([nn.Dense(3), nn.BatchNorm(use_running_average=False)]), (4,))
    with pytest.raises(ConfigError, match="batch_stats"):
        model.init(jax.random.key(0))


def test_an_equinox_module_gives_the_same_outputs_and_gradients():
    eqx = pytest.importorskip("equinox")
    make = lambda key: eqx.nn.MLP(4, 3, 5, 2, key=key)  # noqa: E731
    task = Task.classification(from_equinox(make), classes=3)
    params = task.init(jax.random.key(3))
    module = make(jax.random.key(3))
    assert trees.size(params) == trees.size(eqx.filter(module, eqx.is_array))
    assert np.allclose(task.apply(params, X), jax.vmap(module)(X), atol=1e-6)

    def loss(m):
        return -jnp.take_along_axis(jax.nn.log_softmax(jax.vmap(m)(X)), Y[:, None], 1).mean()

    _, gradient = task.loss_and_gradient(params, Batch.of(X, Y))
    theirs = jax.tree.leaves(eqx.filter(eqx.filter_grad(loss)(module), eqx.is_array))
    for index, leaf in enumerate(theirs):
        assert np.allclose(gradient[str(index)], leaf, atol=1e-6)


def test_more_than_ten_arrays_keep_their_order():
    eqx = pytest.importorskip("equinox")
    make = lambda key: eqx.nn.MLP(4, 3, 5, 6, key=key)  # noqa: E731
    model = from_equinox(make)
    params = model.init(jax.random.key(0))
    assert len(params) == 14
    # As after a sum of trees or a checkpoint, which sort the names as words: "0", "1", "10", "11", ...
    shuffled = jax.tree.map(lambda leaf: leaf + 0.0, dict(sorted(params.items())))
    assert np.allclose(model.apply(shuffled, X), jax.vmap(make(jax.random.key(0)))(X), atol=1e-6)


def test_an_equinox_module_can_be_traced_inside_a_program():
    eqx = pytest.importorskip("equinox")
    model = from_equinox(lambda key: eqx.nn.Linear(4, 2, key=key))
    params = jax.jit(model.init)(jax.random.key(0))
    assert jax.eval_shape(model.apply, params, X).shape == (6, 2)
