"""Convolutional networks of the studies.

`cnn` is the two-layer network of McMahan et al. (Communication-Efficient Learning of Deep Networks from
Decentralized Data, 2017); `cnn-small` the three-layer network of the client-sampling studies (122,570
parameters on CIFAR-10); `cnn-wide` the network of the data-stream studies (3,353,034 parameters on
CIFAR-10); `cnn-femnist` the one of the FedEM studies. Images are (height, width, channels).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax

from ..errors import ConfigError
from ..typing import Params, PyTree
from .catalog import model_registry
from .dense import dense, dense_init, flatten
from .layers import Layer, dense_layers
from .model import Model

_FEW_ROWS = 4
"""The fewest rows of pixels that some convolutional model takes, and the most channels that images have."""


@dataclass(frozen=True)
class Convolution:
    """One convolutional layer: `channels` filters of `kernel` x `kernel`, ReLU, and a 2x2 maximum where
    `pool`."""

    channels: int
    kernel: int
    pool: bool
    padding: str = "VALID"

    def output(self, height: int, width: int) -> tuple[int, int]:
        """The size of the image that comes out."""
        shrink = 0 if self.padding == "SAME" else self.kernel - 1
        height, width = height - shrink, width - shrink
        return (height // 2, width // 2) if self.pool else (height, width)


def convolutional(
    input_shape: tuple[int, ...],
    outputs: int,
    layers: tuple[Convolution, ...],
    hidden: tuple[int, ...],
    dropout: float = 0.0,
) -> Model:
    """Convolutions, then fully connected layers; dropout after each convolution during training."""
    if not 0 <= dropout < 1:
        raise ConfigError(f"dropout must be at least 0 and below 1, but is {dropout}.")
    shape = image_shape(input_shape)
    widths = (_flat_size(shape, layers), *hidden, outputs)

    def init(key: jax.Array) -> Params:
        keys = jax.random.split(key, len(layers) + len(widths))
        channels = (shape[2], *(layer.channels for layer in layers))
        filters = [
            convolution_init(k, layer.kernel, c, layer.channels)
            for k, layer, c in zip(keys, layers, channels, strict=False)
        ]
        rest = keys[len(layers) :]
        return {
            "conv": filters,
            "dense": [dense_init(k, a, b) for k, a, b in zip(rest, widths, widths[1:], strict=False)],
        }

    def features(params: Params, x: jax.Array, key: jax.Array | None = None) -> jax.Array:
        h = x.reshape(x.shape[0], *shape)
        for index, (layer, filters) in enumerate(zip(layers, params["conv"], strict=True)):
            h = _convolution(layer, filters, h)
            if key is not None:
                h = _drop(jax.random.fold_in(key, index), dropout, h)
        h = flatten(h)
        for weights in params["dense"][:-1]:
            h = jax.nn.relu(dense(weights, h))
        return h

    def apply(params: Params, x: jax.Array) -> jax.Array:
        return dense(params["dense"][-1], features(params, x))

    def apply_noisy(params: Params, x: jax.Array, key: jax.Array) -> jax.Array:
        return dense(params["dense"][-1], features(params, x, key))

    return Model(
        init,
        apply,
        features,
        apply_noisy if dropout else None,
        f"dense/{len(hidden)}",
        layers=(*_layers(shape, layers), *dense_layers(len(widths) - 1, "dense/")),
    )


def _layers(shape: tuple[int, int, int], layers: tuple[Convolution, ...]) -> list[Layer]:
    """From the image to the row that dense layers read."""
    found = [Layer("image", shape=shape)]
    for index, layer in enumerate(layers):
        same = layer.padding == "SAME"
        found.append(Layer("convolution", f"conv/{index}", f"conv.{index}", same=same))
        found += [Layer("max-pool"), Layer("relu")] if layer.pool else [Layer("relu")]
    return [*found, Layer("flatten", channels=layers[-1].channels)]


@model_registry.add("cnn")
def cnn(input_shape: tuple[int, ...], outputs: int) -> Model:
    """Two 5x5 convolutions of 32 and 64 channels with pooling, 512 hidden units (McMahan et al., 2017)."""
    layers = (Convolution(32, 5, True, "SAME"), Convolution(64, 5, True, "SAME"))
    return convolutional(input_shape, outputs, layers, (512,))


@model_registry.add("cnn-small")
def cnn_small(dropout: float = 0.0, *, input_shape: tuple[int, ...], outputs: int) -> Model:
    """Three 3x3 convolutions of 32, 64, 64 channels and 64 hidden units; `cnn-small:0.2` has dropout."""
    layers = (Convolution(32, 3, True), Convolution(64, 3, True), Convolution(64, 3, False))
    return convolutional(input_shape, outputs, layers, (64,), dropout)


@model_registry.add("cnn-wide")
def cnn_wide(input_shape: tuple[int, ...], outputs: int) -> Model:
    """Two unpadded 5x5 convolutions of 32 and 64 channels with pooling, and 2048 hidden units."""
    layers = (Convolution(32, 5, True), Convolution(64, 5, True))
    return convolutional(input_shape, outputs, layers, (2048,))


@model_registry.add("cnn-femnist")
def cnn_femnist(dropout: float = 0.0, *, input_shape: tuple[int, ...], outputs: int) -> Model:
    """Two unpadded 3x3 convolutions of 32 and 64 channels, one pooling, 128 hidden units."""
    layers = (Convolution(32, 3, False), Convolution(64, 3, True))
    return convolutional(input_shape, outputs, layers, (128,), dropout)


def image_shape(input_shape: tuple[int, ...]) -> tuple[int, int, int]:
    """(height, width, channels) of an input that may lack its channel axis."""
    if len(input_shape) == 2:
        return (*input_shape, 1)
    if len(input_shape) != 3:
        raise ConfigError(
            f"a convolutional model needs images, but the inputs have shape {input_shape}; use mlp or linear."
        )
    if is_channels_first(input_shape):
        raise ConfigError(
            f"the inputs have shape {input_shape}, which looks like (channels, height, width); images are "
            "(height, width, channels): transpose rows with x.transpose(0, 2, 3, 1)."
        )
    return input_shape


def is_channels_first(shape: tuple[int, ...]) -> bool:
    """Whether an image has its channels first, as PyTorch does. Three rows of pixels are too few for every
    convolutional model; four are enough for some, so that only square images are refused.

    >>> is_channels_first((1, 28, 28)), is_channels_first((28, 28, 1)), is_channels_first((4, 9, 32))
    (True, False, False)
    """
    first, second, third = shape
    square = second == third
    return first < _FEW_ROWS < min(second, third) or (first == _FEW_ROWS < second and square)


def convolution_init(key: jax.Array, kernel: int, inputs: int, outputs: int) -> PyTree:
    """Filters drawn uniformly in ±1/sqrt(fan in)."""
    w_key, b_key = jax.random.split(key)
    bound = 1.0 / math.sqrt(kernel * kernel * inputs)
    return {
        "w": jax.random.uniform(w_key, (kernel, kernel, inputs, outputs), minval=-bound, maxval=bound),
        "b": jax.random.uniform(b_key, (outputs,), minval=-bound, maxval=bound),
    }


def _flat_size(shape: tuple[int, int, int], layers: tuple[Convolution, ...]) -> int:
    height, width, channels = shape
    for layer in layers:
        (height, width), channels = layer.output(height, width), layer.channels
    if min(height, width) < 1:
        raise ConfigError(f"images of {shape[0]}x{shape[1]} are too small for this model; use mlp or linear.")
    return height * width * channels


def _convolution(layer: Convolution, filters: PyTree, x: jax.Array) -> jax.Array:
    h = lax.conv_general_dilated(
        x, filters["w"], (1, 1), layer.padding, dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    # Pooling first is the same function, because a shift and ReLU keep the order; it touches fewer entries.
    return jax.nn.relu((max_pool(h) if layer.pool else h) + filters["b"])


@jax.custom_vjp
def max_pool(x: jax.Array) -> jax.Array:
    """The largest of every 2x2 square; an odd last row or column is left out."""
    first, second, third, fourth = _quarters(x)
    return jnp.maximum(jnp.maximum(first, second), jnp.maximum(third, fourth))


def _quarters(x: jax.Array) -> list[jax.Array]:
    height, width = x.shape[1] // 2 * 2, x.shape[2] // 2 * 2
    return [x[:, i:height:2, j:width:2] for i in (0, 1) for j in (0, 1)]


def _max_pool_forward(x: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    largest = max_pool(x)
    return largest, (x, largest)


def _max_pool_backward(saved: tuple[jax.Array, jax.Array], gradient: jax.Array) -> tuple[jax.Array]:
    """The gradient goes to the largest entry, the first one in reading order where several tie."""
    x, largest = saved
    free, shares = jnp.ones(largest.shape, bool), []
    for quarter in _quarters(x):
        chosen = free & (quarter == largest)
        free = free & ~chosen
        shares.append(jnp.where(chosen, gradient, 0.0))
    batch, height, width, channels = largest.shape
    rows = [jnp.stack(shares[i : i + 2], axis=3) for i in (0, 2)]
    grown = jnp.stack(rows, axis=2).reshape(batch, 2 * height, 2 * width, channels)
    return (jnp.pad(grown, ((0, 0), (0, x.shape[1] - 2 * height), (0, x.shape[2] - 2 * width), (0, 0))),)


max_pool.defvjp(_max_pool_forward, _max_pool_backward)


def _drop(key: jax.Array, rate: float, x: jax.Array) -> jax.Array:
    keep = jax.random.bernoulli(key, 1.0 - rate, x.shape)
    return jnp.where(keep, x / (1.0 - rate), 0.0)
