"""Do Equinox modules predict the same through Unalike as on their own?"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from unalike.core import pytrees
from unalike.models import Batch, Task, from_equinox

X = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
Y = np.random.default_rng(1).integers(0, 3, 6)


def entropy(logits):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), Y[:, None], 1).mean()


def test_an_equinox_module_gives_the_same_outputs_and_gradients():
    make = lambda key: eqx.nn.MLP(4, 3, 5, 2, key=key)  # noqa: E731
    task = Task.classification(from_equinox(make), classes=3)
    module = make(jax.random.key(3))
    params = task.init(jax.random.key(3))

    @jax.jit
    def both(p, arrays):
        theirs = lambda a: jax.vmap(eqx.combine(a, eqx.partition(module, eqx.is_array)[1]))(X)  # noqa: E731
        loss, gradient = task.loss_and_gradient(p, Batch.of(X, Y))
        expected, slope = jax.value_and_grad(lambda a: entropy(theirs(a)))(arrays)
        named = {str(index): leaf for index, leaf in enumerate(jax.tree.leaves(slope))}
        return (task.apply(p, X), loss, gradient), (theirs(arrays), expected, named)

    assert pytrees.largest_difference(*both(params, eqx.filter(module, eqx.is_array))) < 1e-6


def test_more_than_ten_arrays_keep_their_order():
    make = lambda key: eqx.nn.MLP(4, 3, 5, 6, key=key)  # noqa: E731
    model = from_equinox(make)
    params = model.init(jax.random.key(0))
    assert len(params) == 14
    # As after a sum of trees or a checkpoint, which sort the names as words: "0", "1", "10", "11", ...
    shuffled = jax.tree.map(lambda leaf: leaf + 0.0, dict(sorted(params.items())))
    assert np.allclose(model.apply(shuffled, X), jax.vmap(make(jax.random.key(0)))(X), atol=1e-6)


def test_an_equinox_module_can_be_traced_inside_a_program():
    model = from_equinox(lambda key: eqx.nn.Linear(4, 2, key=key))
    params = jax.jit(model.init)(jax.random.key(0))
    assert jax.eval_shape(model.apply, params, X).shape == (6, 2)


def test_a_module_starts_where_it_is():
    module = eqx.nn.MLP(4, 3, 5, 1, key=jax.random.key(7))
    task = Task.classification(module, 3)
    for seed in range(2):
        found = task.apply(task.init(jax.random.key(seed)), X)
        assert np.allclose(found, jax.vmap(module)(X), atol=1e-6)
