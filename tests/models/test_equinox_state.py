"""Does an Equinox module with state train, predict and count rows through Unalike as on its own?"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import unalike
from unalike import ConfigError, FedAvg, Federation, LocalWork, Optimizer, Task
from unalike.core import pytrees
from unalike.engine import root_key
from unalike.models import Batch, from_equinox
from unalike.models.equinox_state import arrays_of

RNG = np.random.default_rng(0)
X, Y = RNG.normal(1.0, 2.0, (6, 4)).astype(np.float32), RNG.integers(0, 3, 6)


class Net(eqx.Module):
    first: eqx.nn.Linear
    norm: eqx.nn.BatchNorm
    last: eqx.nn.Linear

    def __init__(self, key, mode="batch", axis="rows"):
        one, two = jax.random.split(key)
        self.first, self.last = eqx.nn.Linear(4, 5, key=one), eqx.nn.Linear(5, 3, key=two)
        self.norm = eqx.nn.BatchNorm(5, axis, mode=mode, momentum=0.9)

    def __call__(self, x, state):
        h, state = self.norm(self.first(x), state)
        return self.last(jax.nn.relu(h)), state


class Counted(eqx.Module):
    """Remembers something of every row."""

    seen: eqx.nn.StateIndex
    first: eqx.nn.Linear

    def __init__(self, key):
        self.seen, self.first = eqx.nn.StateIndex(jnp.zeros(())), eqx.nn.Linear(4, 3, key=key)

    def __call__(self, x, state):
        return self.first(x), state.set(self.seen, state.get(self.seen) + x[0])


def loss(module, state):
    logits, after = jax.vmap(module, in_axes=(0, None), out_axes=(0, None), axis_name="rows")(X, state)
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), Y[:, None], 1).mean(), after


def floats(state):
    return {name: leaf.astype(float) for name, leaf in arrays_of(eqx, state).items()}


@pytest.mark.parametrize("mode", ["batch", "ema"])
def test_one_client_is_plain_training_in_equinox(mode):
    federation = Federation.from_clients({"a": (X, Y)}, test_fraction=0)
    task = Task.of(federation, from_equinox(lambda key: Net(key, mode), state="average"))
    method = FedAvg(work=LocalWork(epochs=1, batch_size=0), optimizer=Optimizer("sgd", 0.5))
    run = unalike.train(federation, task, method, rounds=2, seed=0, evaluate_every=0)
    module, state = eqx.nn.make_with_state(Net)(root_key(0, "init"), mode)
    step = eqx.filter_jit(eqx.filter_value_and_grad(loss, has_aux=True))
    for _ in range(2):
        (_, state), slope = step(module, state)
        module = eqx.apply_updates(module, jax.tree.map(lambda leaf: -0.5 * leaf, slope))
    theirs = arrays_of(eqx, module), floats(state)
    assert pytrees.largest_difference(tuple(run.message), theirs) < 1e-5
    quiet = eqx.nn.inference_mode(module)
    logits = jax.vmap(lambda row: quiet(row, state)[0], axis_name="rows")(X)
    assert np.allclose(task.apply(run.message, X), logits, atol=1e-5)


@pytest.mark.parametrize("mode", ["batch", "ema"])
def test_padding_does_not_count_in_the_statistics(mode):
    task = Task.classification(from_equinox(lambda key: Net(key, mode), "local"), 3)
    params, learn, few = task.init(jax.random.key(0)), jax.jit(task.learn), Batch.of(X[:4], Y[:4])
    padded = Batch.of(np.r_[X[:4], 100 + X[4:]], Y, np.r_[np.ones(4), 0, 0])._replace(size=few.size)
    assert pytrees.largest_difference(learn(params, few), learn(params, padded)) < 1e-5
    nothing = learn(params, Batch.of(X, Y, np.zeros(6)))
    assert pytrees.largest_difference(nothing[1:], (pytrees.zeros_like(params.weights), params.state)) == 0


def test_images_in_a_sequence_of_layers_are_normalized_over_pixels_of_real_rows():
    make = lambda key: eqx.nn.Sequential([eqx.nn.BatchNorm(2, "rows", mode="batch", momentum=0.0)])  # noqa: E731
    model = from_equinox(make, "average")
    x = RNG.normal(1.0, 2.0, (3, 2, 4, 4)).astype(np.float32)
    outputs, state = model.apply_training(model.init(None), x, jnp.array([1.0, 1.0, 0.0]), None)
    mean, variance = x[:2].mean((0, 2, 3)), x[:2].var((0, 2, 3))
    assert np.allclose(state["1"], mean, atol=1e-5)
    assert np.allclose(state["2"], variance, atol=1e-4)
    expected = (x[:2] - mean[:, None, None]) / np.sqrt(variance[:, None, None] + 1e-5)
    assert np.allclose(outputs[:2], expected, atol=1e-4)


def test_a_pair_a_class_and_a_module_are_the_same_model():
    pair = eqx.nn.make_with_state(Net)(jax.random.key(0))
    ways = [pair, Net, Net(jax.random.key(0)), from_equinox(eqx.nn.make_with_state(Net), "local")]
    tasks = [Task.classification(way, 3, state="local") for way in ways]
    made = [task.init(jax.random.key(0)) for task in tasks]
    assert all(pytrees.largest_difference(made[0], other) == 0 for other in made[1:])
    assert np.array_equal(*(task.apply(made[0], X) for task in tasks[:2]))


def test_what_cannot_be_carried_is_refused_in_words():
    with pytest.raises(ConfigError, match=r"keeps state \(eqx.nn.State\).*'average'.*'local'"):
        Task.classification(Net, 3)
    module, _ = eqx.nn.make_with_state(Net)(jax.random.key(0))
    with pytest.raises(ConfigError, match="parted from its state"):
        from_equinox(module, "average")
    counted = from_equinox(Counted, "average")
    with pytest.raises(ConfigError, match=r"for each row.*jax.lax.pmean\(value, 'batch'\)"):
        counted.apply_training(counted.init(jax.random.key(0)), X, jnp.ones(6), None)
    both = [eqx.nn.BatchNorm(4, axis, mode="batch") for axis in ("rows", "batch")]
    model = from_equinox(eqx.nn.Sequential(both), "average")
    with pytest.raises(ConfigError, match=r"several axis names \(rows, batch\)"):
        model.apply(model.init(None), X)
