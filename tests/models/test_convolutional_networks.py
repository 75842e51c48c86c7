"""Do the convolutional networks equal loops over pixels, and does pooling send its gradient to one entry?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike import ConfigError
from unalike.models import Batch, Task, cnn_small, convolutional, model_registry
from unalike.models.convolutional_networks import Convolution, max_pool
from unalike.models.losses import squared_error

from .filled import filled

LAYERS = (Convolution(3, 3, True, "SAME"), Convolution(4, 2, False))


def naive_convolution(x, w, b, padding):
    """Cross-correlation, one output pixel at a time."""
    k = w.shape[0]
    if padding == "SAME":
        low = (k - 1) // 2
        x = np.pad(x, ((0, 0), (low, k - 1 - low), (low, k - 1 - low), (0, 0)))
    out = np.zeros((x.shape[0], x.shape[1] - k + 1, x.shape[2] - k + 1, w.shape[3]))
    for i, j in np.ndindex(*out.shape[1:3]):
        out[:, i, j] = np.tensordot(x[:, i : i + k, j : j + k], w, axes=3) + b
    return out


def naive_pool(x):
    out = np.zeros((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]))
    for i, j in np.ndindex(*out.shape[1:3]):
        out[:, i, j] = x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max((1, 2))
    return out


def naive_forward(params, x, layers):
    for layer, filters in zip(layers, params["conv"], strict=True):
        x = np.maximum(naive_convolution(x, filters["w"], filters["b"], layer.padding), 0)
        x = naive_pool(x) if layer.pool else x
    x = x.reshape(len(x), -1)
    for weights in params["dense"][:-1]:
        x = np.maximum(x @ weights["w"].T + weights["b"], 0)
    return x @ params["dense"][-1]["w"].T + params["dense"][-1]["b"]


def images(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_the_forward_pass_equals_a_loop_over_pixels():
    model = convolutional((7, 6, 2), 5, LAYERS, (8,))
    params = filled(model)
    x = images(3, 7, 6, 2)
    expected = naive_forward(jax.tree.map(np.asarray, params), x, LAYERS)
    assert np.allclose(jax.jit(model.apply)(params, x), expected, atol=1e-5)


def test_an_image_without_channel_axis_has_one_channel():
    with_axis, without = (convolutional(shape, 2, LAYERS, ()) for shape in ((6, 6, 1), (6, 6)))
    params = filled(with_axis)
    x = images(2, 6, 6)
    assert np.array_equal(jax.jit(without.apply)(params, x), jax.jit(with_axis.apply)(params, x[..., None]))


@pytest.mark.parametrize(("height", "width"), [(4, 4), (5, 4), (4, 7), (3, 3), (2, 5)])
def test_pooling_takes_the_largest_of_each_square_also_for_odd_sizes(height, width):
    x = images(2, height, width, 3)
    assert np.array_equal(max_pool(jnp.asarray(x)), naive_pool(x).astype(np.float32))


@pytest.mark.parametrize(("height", "width"), [(4, 4), (5, 7)])
def test_the_gradient_of_pooling_goes_to_the_first_of_tied_maxima(height, width):
    x = np.random.default_rng(1).integers(0, 2, (4, height, width, 3)).astype(np.float32)
    weight = images(4, height // 2, width // 2, 3)
    expected = np.zeros_like(x)
    for n, i, j, c in np.ndindex(*weight.shape):
        square = x[n, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, c]
        di, dj = divmod(int(np.argmax(square)), 2)
        expected[n, 2 * i + di, 2 * j + dj, c] = weight[n, i, j, c]
    gradient = jax.jit(jax.grad(lambda a: jnp.sum(weight * max_pool(a))))(x)
    assert np.array_equal(gradient, expected)


def test_pooling_before_the_rectifier_is_the_textbooks_order_in_value_and_gradient():
    layers = (Convolution(2, 3, True),)
    model = convolutional((6, 6, 1), 2, layers, ())
    params = filled(model, 4)
    x = images(2, 6, 6, 1)

    def textbook(p):
        h = jax.lax.conv_general_dilated(
            x, p["conv"][0]["w"], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        h = jax.nn.relu(h + p["conv"][0]["b"])
        h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return h.reshape(2, -1) @ p["dense"][0]["w"].T + p["dense"][0]["b"]

    square = lambda f: jax.jit(jax.value_and_grad(lambda p: jnp.sum(f(p) ** 2)))  # noqa: E731
    ours, theirs = square(lambda p: model.apply(p, x))(params), square(textbook)(params)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert np.allclose(a, b, atol=1e-5)


def test_dropout_acts_in_training_only_and_is_right_on_average():
    model = convolutional((4, 4, 1), 2, (Convolution(3, 3, False),), (), dropout=0.4)
    params = filled(model)
    x = images(3, 4, 4, 1)
    calm = np.asarray(model.apply(params, x))
    keys = jax.random.split(jax.random.key(7), 400)
    noisy = np.asarray(jax.jit(jax.vmap(lambda key: model.apply_noisy(params, x, key)))(keys))
    assert noisy.std(0).min() > 0
    # With one convolution and no hidden layer, the output is linear in what is dropped.
    error = noisy.std(0) / np.sqrt(len(keys))
    assert (np.abs(noisy.mean(0) - calm) < 4 * error).all()

    task = Task(model, squared_error)
    y = np.zeros((3, 2), np.float32)
    plain = float(task.loss(params, Batch.of(x, y)))
    assert plain == pytest.approx(float(task.losses(params, x, y).mean()), rel=1e-6)
    assert float(task.loss(params, Batch.of(x, y, key=jax.random.key(1)))) != plain


def test_without_dropout_a_model_has_no_noisy_pass():
    assert cnn_small(input_shape=(32, 32, 3), outputs=10).apply_noisy is None
    assert cnn_small(0.2, input_shape=(32, 32, 3), outputs=10).apply_noisy is not None


@pytest.mark.parametrize("size", range(3, 12))
def test_a_layer_knows_the_size_of_what_comes_out(size):
    for layer in (*LAYERS, Convolution(1, 3, True), Convolution(2, 5, True, "SAME")):
        if size < layer.kernel and layer.padding == "VALID":
            continue
        x = np.zeros((1, size, size + 1, 1))
        out = naive_convolution(x, np.zeros((layer.kernel, layer.kernel, 1, 1)), 0.0, layer.padding)
        out = naive_pool(out) if layer.pool else out
        assert layer.output(size, size + 1) == out.shape[1:3]


@pytest.mark.parametrize("name", ["cnn", "cnn-small", "cnn-wide", "cnn-femnist", "cnn-norm", "cnn-bn"])
@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (3, 40, 32), (4, 32, 32)])
def test_images_with_channels_first_are_refused_with_the_transposition(name, shape):
    with pytest.raises(
        ConfigError, match=r"images are \(height, width, channels\).*x\.transpose\(0, 2, 3, 1\)"
    ):
        model_registry.make(name, input_shape=shape, outputs=10)
    model_registry.make(name, input_shape=(*shape[1:], shape[0]), outputs=10)


def test_few_rows_of_pixels_with_many_channels_are_images():
    model_registry.make("cnn", input_shape=(4, 9, 32), outputs=10)
    with pytest.raises(ConfigError, match="too small"):
        model_registry.make("cnn", input_shape=(3, 3, 1), outputs=10)
