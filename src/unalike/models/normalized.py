"""Which models have normalisation layers?  (Layer and group normalisation.)

`mlp-norm` and `cnn-norm` are a perceptron and a small convolutional network whose hidden layers are
normalised sample by sample: over all units of a layer (Ba, Kiros, Hinton, Layer Normalization, 2016), or over
groups of channels (Wu, He, Group Normalization, 2018):

    h  <-  scale * (h - mean(h)) / sqrt(variance(h) + eps) + shift

Statistics over the batch are not used. Mini-batches are padded with rows that must not count, models are pure
functions that carry no running averages from call to call, and a prediction must not depend on which other
rows are asked about. The parameters `scale` and `shift` are below "norm", where FedBN finds them.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ..errors import ConfigError
from ..typing import Params, PyTree
from .catalogue import model_registry
from .convolutional_networks import convolution_init, image_shape, max_pool
from .dense import dense, flatten, mlp
from .layers import Layer, dense_layers, flattened
from .model import Model

CHANNELS = (32, 64)
HIDDEN = 64
EPSILON = 1e-5


@model_registry.add("mlp-norm")
def mlp_norm(*hidden: int, input_shape: tuple[int, ...], outputs: int) -> Model:
    """Fully connected layers with layer normalisation and ReLU between them; `mlp-norm:200,200` has two
    hidden layers (the default is one of 64)."""
    plain = mlp(*hidden, input_shape=input_shape, outputs=outputs)

    def init(key: jax.Array) -> Params:
        layers = plain.init(key)
        return {"dense": layers, "norm": [norm_init(len(layer["b"])) for layer in layers[:-1]]}

    def features(params: Params, x: jax.Array) -> jax.Array:
        h = flatten(x)
        for layer, norm in zip(params["dense"], params["norm"], strict=False):
            h = jax.nn.relu(normalize(norm, dense(layer, h)))
        return h

    return Model(
        init,
        lambda params, x: dense(params["dense"][-1], features(params, x)),
        features,
        head=f"dense/{plain.head}",
        layers=(flattened(input_shape), *dense_layers(max(len(hidden), 1) + 1, "dense/", "norm/")),
    )


@model_registry.add("cnn-norm")
def cnn_norm(groups: int = 8, *, input_shape: tuple[int, ...], outputs: int) -> Model:
    """Two 3x3 convolutions of 32 and 64 channels with group normalisation and pooling, 64 hidden units;
    `cnn-norm:4` has four groups of channels (the default is 8)."""
    if groups < 1 or any(channels % groups for channels in CHANNELS):
        raise ConfigError(f"model 'cnn-norm:{groups}' needs a number of groups that divides 32.")
    height, width, colors = image_shape(input_shape)
    if min(height, width) < 4:
        raise ConfigError(f"images of {height}x{width} are too small for this model; use mlp-norm or mlp.")
    top = mlp(HIDDEN, input_shape=(height // 4 * (width // 4) * CHANNELS[-1],), outputs=outputs)

    def init(key: jax.Array) -> Params:
        *keys, rest = jax.random.split(key, len(CHANNELS) + 1)
        sizes = zip(keys, (colors, *CHANNELS), CHANNELS, strict=False)
        filters = [{"w": convolution_init(k, 3, a, b)["w"]} for k, a, b in sizes]
        return {"conv": filters, "norm": [norm_init(c) for c in CHANNELS], "dense": top.init(rest)}

    def features(params: Params, x: jax.Array) -> jax.Array:
        h = x.reshape(x.shape[0], height, width, colors)
        for filters, norm in zip(params["conv"], params["norm"], strict=True):
            h = max_pool(jax.nn.relu(normalize(norm, _convolution(filters, h), groups)))
        assert top.features is not None
        return top.features(params["dense"], h)

    return Model(
        init,
        lambda params, x: dense(params["dense"][-1], features(params, x)),
        features,
        head=f"dense/{top.head}",
        layers=tuple(_layers((height, width, colors), groups)),
    )


def _layers(shape: tuple[int, int, int], groups: int) -> list[Layer]:
    found = [Layer("image", shape=shape)]
    for index in range(len(CHANNELS)):
        found += [
            Layer("convolution", f"conv/{index}", f"conv.{index}", same=True),
            Layer("group-norm", f"norm/{index}", f"norm.{index}", groups=groups),
            Layer("relu"),
            Layer("max-pool"),
        ]
    return [*found, Layer("flatten", channels=CHANNELS[-1]), *dense_layers(2, "dense/")]


def norm_init(units: int) -> PyTree:
    """A normalisation that starts without scale and shift of its own."""
    return {"scale": jnp.ones(units), "shift": jnp.zeros(units)}


def normalize(norm: PyTree, h: jax.Array, groups: int = 1) -> jax.Array:
    """Mean 0 and variance 1 over each sample's groups of channels (the last axis), then scale and shift.

    >>> normalize(norm_init(2), jnp.array([[1.0, 3.0]])).round(3).tolist()
    [[-1.0, 1.0]]
    """
    parts = h.reshape(h.shape[0], -1, groups, h.shape[-1] // groups)
    centered = parts - parts.mean((1, 3), keepdims=True)
    unit = centered * lax.rsqrt((centered**2).mean((1, 3), keepdims=True) + EPSILON)
    return norm["scale"] * unit.reshape(h.shape) + norm["shift"]


def _convolution(filters: PyTree, x: jax.Array) -> jax.Array:
    """Without an intercept, which the normalisation that follows has in its shift."""
    return lax.conv_general_dilated(
        x, filters["w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
