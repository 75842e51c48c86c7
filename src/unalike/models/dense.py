"""Linear and logistic regression, multi-layer perceptrons."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from ..errors import ConfigError
from ..typing import Params, PyTree
from .catalog import model_registry
from .layers import Layer, dense_layers, flatten_layer
from .model import Model


@model_registry.add("linear")
def linear(intercept: int = 1, *, input_shape: tuple[int, ...], outputs: int) -> Model:
    """Linear regression, or logistic regression under cross-entropy; starts at zero; `linear:0` has no
    intercept."""
    rows = math.prod(input_shape)

    def init(key: jax.Array) -> Params:
        weights = {"w": jnp.zeros((outputs, rows))}
        return {**weights, "b": jnp.zeros(outputs)} if intercept else weights

    def apply(params: Params, x: jax.Array) -> jax.Array:
        return dense(params, flatten(x)) if intercept else flatten(x) @ params["w"].T

    layers = flatten_layer(input_shape), Layer("dense")
    return Model(init, apply, lambda params, x: flatten(x), layers=layers)


@model_registry.add("mlp")
def mlp(*hidden: int, input_shape: tuple[int, ...], outputs: int) -> Model:
    """Fully connected layers with ReLU between them; `mlp:200,200` has two hidden layers (the default is
    one of 64)."""
    if any(width < 1 for width in hidden):
        raise ConfigError(f"model 'mlp:{','.join(map(str, hidden))}' needs layers of at least one unit.")
    widths = (math.prod(input_shape), *(hidden or (64,)), outputs)

    def init(key: jax.Array) -> Params:
        keys = jax.random.split(key, len(widths) - 1)
        return [dense_init(k, a, b) for k, a, b in zip(keys, widths, widths[1:], strict=False)]

    def features(params: Params, x: jax.Array) -> jax.Array:
        h = flatten(x)
        for layer in params[:-1]:
            h = jax.nn.relu(dense(layer, h))
        return h

    return Model(
        init,
        lambda params, x: dense(params[-1], features(params, x)),
        features,
        head=str(len(widths) - 2),
        layers=(flatten_layer(input_shape), *dense_layers(len(widths) - 1)),
    )


def flatten(x: jax.Array) -> jax.Array:
    """One row per sample."""
    return x.reshape(x.shape[0], -1)


def dense_init(key: jax.Array, inputs: int, outputs: int) -> PyTree:
    """A layer drawn uniformly in ±1/sqrt(inputs), the usual start of fully connected layers."""
    w_key, b_key = jax.random.split(key)
    bound = 1.0 / math.sqrt(inputs)
    return {
        "w": jax.random.uniform(w_key, (outputs, inputs), minval=-bound, maxval=bound),
        "b": jax.random.uniform(b_key, (outputs,), minval=-bound, maxval=bound),
    }


def dense(layer: PyTree, x: jax.Array) -> jax.Array:
    """x W' + b, with one row of W per output: long rows keep the processor's vector units full."""
    return x @ layer["w"].T + layer["b"]
