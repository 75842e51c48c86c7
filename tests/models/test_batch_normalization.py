"""Do models with batch normalization train, predict and count rows as their definition says?"""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from unalike import ConfigError, FedAvg, Task, load, train
from unalike.algorithms.fedbn import FedBN
from unalike.core import pytrees
from unalike.models import Batch, cnn_bn, mlp_bn
from unalike.models.batch_normalization import batch_statistics
from unalike.models.losses import cross_entropy

RNG = np.random.default_rng(0)
X, Y = RNG.normal(1.0, 2.0, size=(6, 4, 4)).astype(np.float32), RNG.integers(0, 3, 6)
MODELS = [mlp_bn(5, input_shape=(4, 4), outputs=3), cnn_bn(input_shape=(4, 4), outputs=3)]
either = pytest.mark.parametrize("model", MODELS, ids=["mlp", "cnn"])


class Net(nn.Module):
    """The same perceptron in Flax."""

    @nn.compact
    def __call__(self, x, train=False):
        h = nn.Dense(5)(x.reshape(len(x), -1))
        return nn.Dense(3)(nn.relu(nn.BatchNorm(use_running_average=not train, momentum=0.9)(h)))


def in_flax(params):
    """Our perceptron under Flax's names."""
    first, last = ({"kernel": layer["w"].T, "bias": layer["b"]} for layer in params.weights["dense"])
    (norm,), (state,) = params.weights["norm"], params.state["norm"]
    scale = {"scale": norm["scale"], "bias": norm["shift"]}
    statistics = {"BatchNorm_0": {"mean": state["mean"], "var": state["variance"]}}
    return {"Dense_0": first, "BatchNorm_0": scale, "Dense_1": last}, {"batch_stats": statistics}


def chosen(model):
    task = Task.classification(model, 3, state="average")
    return task, jax.jit(task.init)(jax.random.key(0))


def test_a_mini_batch_trains_the_perceptron_as_flax_does():
    task, params = chosen(MODELS[0])
    weights, state = in_flax(params)

    def loss(weights):
        logits, after = Net().apply({"params": weights, **state}, X, train=True, mutable=["batch_stats"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, Y).mean(), after

    value, gradient, after = jax.jit(task.learn)(params, Batch.of(X, Y))
    (expected, moved), slope = jax.jit(jax.value_and_grad(loss, has_aux=True))(weights)
    ours = in_flax(params._replace(weights=gradient, state=after))
    # Flax's running variance is of the biased one: 0.9 + 0.1 v instead of 0.9 + 0.1 v 6/5.
    biased = moved["batch_stats"]["BatchNorm_0"]["var"]
    moved["batch_stats"]["BatchNorm_0"]["var"] = 0.9 + (biased - 0.9) * 6 / 5
    assert pytrees.largest_difference((value, *ours), (expected, slope, moved)) < 1e-5
    assert np.allclose(task.apply(params, X), Net().apply({"params": weights, **state}, X), atol=1e-5)


def test_statistics_are_those_of_all_pixels_of_real_rows():
    h, weight = RNG.normal(3.0, 2.0, (5, 2, 3, 4)).astype(np.float32), np.array([1.0, 0.5, 2.0, 0.0, 0.0])
    mean, variance, count = batch_statistics(jnp.asarray(h), jnp.asarray(weight))
    seen = h[:3].reshape(-1, 4)
    np.testing.assert_allclose(mean, seen.mean(0), rtol=1e-5)
    np.testing.assert_allclose(variance, seen.var(0), rtol=1e-5)
    assert count == len(seen)


@either
def test_padding_changes_nothing_and_a_batch_of_padding_moves_nothing(model):
    task, params = chosen(model)
    learn, few = jax.jit(task.learn), Batch.of(X[:4], Y[:4])
    padded = Batch.of(np.r_[X[:4], 100 + X[4:]], Y, np.r_[np.ones(4), 0, 0])._replace(size=few.size)
    assert pytrees.largest_difference(learn(params, few), learn(params, padded)) < 1e-4
    nothing = learn(params, Batch.of(X, Y, np.zeros(6)))
    assert pytrees.largest_difference(nothing[1:], (pytrees.zeros_like(params.weights), params.state)) == 0


@either
def test_a_prediction_is_of_its_row_alone_and_of_the_head_on_the_features(model):
    task, params = chosen(model)
    params = params._replace(state=jax.jit(task.learn)(params, Batch.of(X, Y))[2])
    together = jax.jit(task.apply)(params, X)
    assert np.allclose(together[:1], task.apply(params, X[:1]), atol=1e-5)
    head = pytrees.by_path(params)
    w, b = (head[f"{model.head}/{part}"] for part in "wb")
    assert np.allclose(together, model.features(params, X) @ w.T + b, atol=1e-5)


def test_a_variance_that_noise_made_negative_predicts_numbers():
    task, params = chosen(MODELS[0])
    below = {"norm": [{**layer, "variance": layer["variance"] - 1.5} for layer in params.state["norm"]]}
    assert np.isfinite(task.apply(params._replace(state=below), X)).all()


def test_what_becomes_of_statistics_must_be_chosen():
    federation = load("digits", clients=2, samples=40)
    assert Task.of(federation, "mlp-bn:3", state="local").model.state == "local"
    assert Task.classification(Task.classification(MODELS[0], 3, state="average").model, 3).model.state
    with pytest.raises(ConfigError, match=r"keeps state \(running statistics\).*--state average.*'local'"):
        Task.of(federation, "mlp-bn:3")
    with pytest.raises(ConfigError, match="did you mean 'average'"):
        Task.of(federation, "mlp-bn:3", state="averaged")
    unchosen = Task(mlp_bn(3, input_shape=(8, 8, 1), outputs=10), cross_entropy)
    with pytest.raises(ConfigError, match="choose what becomes of it"):
        train(federation, unchosen, FedAvg(), rounds=1)


def test_fedbn_keeps_scale_shift_and_statistics():
    kept = FedBN().split(*chosen(MODELS[0])).private
    assert list(pytrees.by_path(kept)) == [
        *("weights/norm/0/scale", "weights/norm/0/shift", "state/norm/0/mean", "state/norm/0/variance"),
    ]
