"""Models with layer and group normalization.

`mlp-norm` and `cnn-norm` are a perceptron and a small convolutional network whose hidden layers are
normalized sample by sample: over all units of a layer (Ba, Kiros, Hinton, Layer Normalization, 2016), or over
groups of channels (Wu, He, Group Normalization, 2018):

    h  <-  scale * (h - mean(h)) / sqrt(variance(h) + eps) + shift

Nothing is remembered from call to call, and a row is normalized without the others;
:mod:`.batch_normalization` has the same networks with statistics over the batch. The parameters `scale` and
`shift` are below "norm", where FedBN finds them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax

from ..errors import ConfigError
from ..typing import Params, PyTree
from .catalog import model_registry
from .convolutional_networks import convolution_init, image_shape, max_pool
from .dense import dense, flatten, mlp
from .layers import Layer, LayerKind, dense_layers, flatten_layer
from .model import Model

CHANNELS = (32, 64)
HIDDEN = 64
EPSILON = 1e-5
Normalize = Callable[[int, jax.Array], jax.Array]
"""What becomes of a hidden layer, by its number."""


@model_registry.add("mlp-norm")
def mlp_norm(*hidden: int, input_shape: tuple[int, ...], outputs: int) -> Model:
    """Fully connected layers with layer normalization and ReLU between them; `mlp-norm:200,200` has two
    hidden layers (the default is one of 64)."""
    return _sample_by_sample(normalized_mlp(hidden, input_shape, outputs), "layer-norm")


@model_registry.add("cnn-norm")
def cnn_norm(groups: int = 8, *, input_shape: tuple[int, ...], outputs: int) -> Model:
    """Two 3x3 convolutions of 32 and 64 channels with group normalization and pooling, 64 hidden units;
    `cnn-norm:4` has four groups of channels (the default is 8)."""
    if groups < 1 or any(channels % groups for channels in CHANNELS):
        raise ConfigError(f"model 'cnn-norm:{groups}' needs a number of groups that divides 32.")
    return _sample_by_sample(normalized_cnn(input_shape, outputs), "group-norm", groups)


@dataclass(frozen=True)
class NormalizedNetwork:
    """A network whose normalization is somebody else's choice: `features(params, x, norm)` asks `norm(i, h)`
    for what becomes of the i-th hidden layer."""

    init: Callable[[jax.Array], Params]
    features: Callable[[Params, jax.Array, Normalize], jax.Array]
    head: str
    layers: Callable[[LayerKind, int, str], list[Layer]]
    """The layers with that kind of normalization and number of groups, below a path."""

    def apply(self, params: Params, x: jax.Array, norm: Normalize) -> jax.Array:
        """Predictions."""
        return dense(params["dense"][-1], self.features(params, x, norm))


def normalized_mlp(hidden: tuple[int, ...], input_shape: tuple[int, ...], outputs: int) -> NormalizedNetwork:
    """Fully connected layers, each but the last normalized, then ReLU."""
    plain = mlp(*hidden, input_shape=input_shape, outputs=outputs)

    def init(key: jax.Array) -> Params:
        layers = plain.init(key)
        return {"dense": layers, "norm": [norm_init(len(layer["b"])) for layer in layers[:-1]]}

    def features(params: Params, x: jax.Array, norm: Normalize) -> jax.Array:
        h = flatten(x)
        for index, layer in enumerate(params["dense"][:-1]):
            h = jax.nn.relu(norm(index, dense(layer, h)))
        return h

    def layers(kind: LayerKind, groups: int, at: str) -> list[Layer]:
        count = max(len(hidden), 1) + 1
        return [flatten_layer(input_shape), *dense_layers(count, f"{at}dense/", f"{at}norm/", kind)]

    return NormalizedNetwork(init, features, f"dense/{plain.head}", layers)


def normalized_cnn(input_shape: tuple[int, ...], outputs: int) -> NormalizedNetwork:
    """Two 3x3 convolutions, each normalized, then ReLU and pooling; hidden units that are not normalized."""
    height, width, colors = image_shape(input_shape)
    if min(height, width) < 4:
        raise ConfigError(f"images of {height}x{width} are too small for this model; use mlp-norm or mlp.")
    top = mlp(HIDDEN, input_shape=(height // 4 * (width // 4) * CHANNELS[-1],), outputs=outputs)

    def init(key: jax.Array) -> Params:
        *keys, rest = jax.random.split(key, len(CHANNELS) + 1)
        sizes = zip(keys, (colors, *CHANNELS), CHANNELS, strict=False)
        filters = [{"w": convolution_init(k, 3, a, b)["w"]} for k, a, b in sizes]
        return {"conv": filters, "norm": [norm_init(c) for c in CHANNELS], "dense": top.init(rest)}

    def features(params: Params, x: jax.Array, norm: Normalize) -> jax.Array:
        h = x.reshape(x.shape[0], height, width, colors)
        for index, filters in enumerate(params["conv"]):
            h = max_pool(jax.nn.relu(norm(index, _convolution(filters, h))))
        assert top.features is not None
        return top.features(params["dense"], h)

    def layers(kind: LayerKind, groups: int, at: str) -> list[Layer]:
        return _layers((height, width, colors), kind, groups, at)

    return NormalizedNetwork(init, features, f"dense/{top.head}", layers)


def _sample_by_sample(network: NormalizedNetwork, kind: LayerKind, groups: int = 1) -> Model:
    def norm(params: Params) -> Normalize:
        return lambda index, h: normalize(params["norm"][index], h, groups)

    return Model(
        network.init,
        lambda params, x: network.apply(params, x, norm(params)),
        lambda params, x: network.features(params, x, norm(params)),
        head=network.head,
        layers=tuple(network.layers(kind, groups, "")),
    )


def _layers(shape: tuple[int, int, int], kind: LayerKind, groups: int, at: str) -> list[Layer]:
    found = [Layer("image", shape=shape)]
    for index in range(len(CHANNELS)):
        found += [
            Layer("convolution", f"{at}conv/{index}", f"conv.{index}", same=True),
            Layer(kind, f"{at}norm/{index}", f"norm.{index}", groups=groups),
            Layer("relu"),
            Layer("max-pool"),
        ]
    return [*found, Layer("flatten", channels=CHANNELS[-1]), *dense_layers(2, f"{at}dense/")]


def norm_init(units: int) -> PyTree:
    """A normalization that starts without scale and shift of its own."""
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
    """Without an intercept, which the normalization that follows has in its shift."""
    return lax.conv_general_dilated(
        x, filters["w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
