"""Do normalized models normalize each sample by itself, and do their parameters lie where FedBN looks?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike.core import pytrees
from unalike.errors import ConfigError
from unalike.models import Batch, Task
from unalike.models.catalog import model_registry
from unalike.models.normalized import cnn_norm, mlp_norm, norm_init, normalize

from .filled import filled

MODELS = [mlp_norm(6, 5, input_shape=(8, 8), outputs=3), cnn_norm(input_shape=(8, 8), outputs=3)]
X = np.random.default_rng(0).normal(size=(4, 8, 8)).astype(np.float32)


def naive_groups(h, groups):
    """Group normalization with loops over samples and groups."""
    out = np.empty(h.shape)
    for sample, result in zip(h, out, strict=True):
        for channels in np.split(np.arange(h.shape[-1]), groups):
            part = sample[..., channels]
            result[..., channels] = (part - part.mean()) / np.sqrt(part.var() + 1e-5)
    return out


@pytest.mark.parametrize(
    ("shape", "groups"), [((3, 8), 1), ((3, 8), 4), ((2, 5, 4, 8), 1), ((2, 5, 4, 8), 4)]
)
def test_normalization_equals_its_definition(shape, groups):
    rng = np.random.default_rng(1)
    h, scale, shift = rng.normal(2.0, 3.0, shape), rng.normal(size=8), rng.normal(size=8)
    found = normalize({"scale": jnp.asarray(scale), "shift": jnp.asarray(shift)}, jnp.asarray(h), groups)
    assert np.allclose(found, scale * naive_groups(h, groups) + shift, atol=1e-4)


def test_normalization_forgets_a_samples_own_scale_and_shift():
    h = jnp.asarray(X[:, 0])
    changed = h * jnp.array([[1.0], [2.0], [5.0], [0.5]]) + jnp.array([[0.0], [3.0], [-1.0], [2.0]])
    assert np.allclose(normalize(norm_init(8), h), normalize(norm_init(8), changed), atol=1e-3)


@pytest.mark.parametrize("model", MODELS, ids=["mlp", "cnn"])
def test_a_prediction_does_not_depend_on_the_other_rows(model):
    params, apply = filled(model), jax.jit(model.apply)
    alone = np.concatenate([apply(params, X[i : i + 1]) for i in range(4)])
    assert np.allclose(apply(params, X), alone, atol=1e-5)


@pytest.mark.parametrize("model", MODELS, ids=["mlp", "cnn"])
def test_a_row_of_weight_zero_pulls_nothing(model):
    task, params = Task.classification(model, 3), filled(model)
    y = np.array([0, 1, 2, 0])
    padded = Batch.of(X, y, np.array([1.0, 1.0, 1.0, 0.0]))._replace(size=jnp.asarray(3.0))
    full = Batch.of(X[:3], y[:3])
    gaps = [jax.jit(task.loss_and_gradient)(params, batch)[1] for batch in (padded, full)]
    assert pytrees.largest_difference(*gaps) < 1e-5
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(gaps[1]["norm"]))


@pytest.mark.parametrize("model", MODELS, ids=["mlp", "cnn"])
def test_the_head_is_the_last_layer_on_top_of_the_features(model):
    params = filled(model)
    kind, number = model.head.split("/")
    head = params[kind][int(number)]
    expected = jax.jit(model.features)(params, X) @ head["w"].T + head["b"]
    assert np.allclose(jax.jit(model.apply)(params, X), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        ("mlp-norm:6,5", 64 * 6 + 6 + 6 * 5 + 5 + 5 * 3 + 3 + 2 * (6 + 5)),
        ("mlp-norm", 64 * 64 + 64 + 64 * 3 + 3 + 2 * 64),
        ("cnn-norm:4", 9 * 32 + 9 * 32 * 64 + 2 * 96 + 4 * 64 * 64 + 64 + 64 * 3 + 3),
    ],
)
def test_models_by_name_have_as_many_parameters_as_their_layers(spec, count):
    model = model_registry.make(spec, input_shape=(8, 8), outputs=3)
    assert pytrees.size(jax.eval_shape(model.init, jax.random.key(0))) == count


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: cnn_norm(5, input_shape=(8, 8), outputs=3),
            "'cnn-norm:5' needs a number of groups that divides 32",
        ),
        (lambda: cnn_norm(0, input_shape=(8, 8), outputs=3), "divides 32"),
        (lambda: cnn_norm(input_shape=(3, 8), outputs=3), "images of 3x8 are too small for this model"),
        (lambda: cnn_norm(input_shape=(8,), outputs=3), "needs images"),
        (lambda: mlp_norm(0, input_shape=(8,), outputs=3), "at least one unit"),
    ],
)
def test_a_model_that_makes_no_sense_is_refused_in_words(make, words):
    with pytest.raises(ConfigError, match=words):
        make()
