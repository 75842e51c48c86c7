"""Do linear models and perceptrons compute what their names say?"""

import jax
import numpy as np

from unalike.models import linear, mlp

from .filled import filled


def test_a_linear_model_starts_at_zero_and_is_affine():
    model = linear(input_shape=(2, 3), outputs=4)
    params = model.init(jax.random.key(0))
    x = np.random.default_rng(0).normal(size=(5, 2, 3)).astype(np.float32)
    assert not np.asarray(model.apply(params, x)).any()
    w, b = np.arange(24.0).reshape(6, 4), np.arange(4.0)
    assert np.allclose(model.apply({"w": w.T, "b": b}, x), x.reshape(5, 6) @ w + b, rtol=1e-5)
    assert np.array_equal(model.features(params, x), x.reshape(5, 6))


def test_without_intercept_zero_maps_to_zero():
    model = linear(0, input_shape=(3,), outputs=2)
    assert set(model.init(jax.random.key(0))) == {"w"}
    assert not np.asarray(model.apply({"w": np.ones((2, 3))}, np.zeros((1, 3)))).any()


def test_a_perceptron_is_matrix_products_with_rectifiers_between():
    model = mlp(5, 4, input_shape=(3,), outputs=2)
    params = filled(model, 1)
    x = np.random.default_rng(1).normal(size=(7, 3)).astype(np.float32)
    h = x
    for layer in params[:-1]:
        h = np.maximum(h @ np.asarray(layer["w"]).T + np.asarray(layer["b"]), 0)
    assert np.allclose(model.features(params, x), h, atol=1e-6)
    last = params[-1]
    assert np.allclose(model.apply(params, x), h @ np.asarray(last["w"]).T + np.asarray(last["b"]), atol=1e-6)
