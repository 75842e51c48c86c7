"""Batch-normalized models, with running statistics.

`mlp-bn` and `cnn-bn` are the networks of :mod:`.normalized` with the means and variances of each unit (or
channel) over the rows of a mini-batch (Ioffe, Szegedy, Batch Normalization: Accelerating Deep Network
Training by Reducing Internal Covariate Shift, 2015):

    training:    h  <-  scale * (h - m) / sqrt(v + eps) + shift,   m, v  of the n rows that are no padding
                 mean <- 0.9 mean + 0.1 m,   variance <- 0.9 variance + 0.1 v n / (n - 1)
    prediction:  h  <-  scale * (h - mean) / sqrt(variance + eps) + shift

with PyTorch's constants, so that an exported model is the same there. The running statistics are state, of
which somebody must say what becomes of it (:mod:`.module_state`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ..typing import Params, PyTree
from .catalog import model_registry
from .model import Model
from .module_state import Stateful, real_rows, update_state
from .normalized import EPSILON, NormalizedNetwork, normalized_cnn, normalized_mlp

MOMENTUM = 0.1


@model_registry.add("mlp-bn")
def mlp_bn(*hidden: int, input_shape: tuple[int, ...], outputs: int) -> Model:
    """Fully connected layers with batch normalization and ReLU between them, for `--state average` or
    `local`; `mlp-bn:200,200` has two hidden layers (the default is one of 64)."""
    return _over_the_batch(normalized_mlp(hidden, input_shape, outputs))


@model_registry.add("cnn-bn")
def cnn_bn(*, input_shape: tuple[int, ...], outputs: int) -> Model:
    """Two 3x3 convolutions of 32 and 64 channels with batch normalization and pooling, 64 hidden units, for
    `--state average` or `local`."""
    return _over_the_batch(normalized_cnn(input_shape, outputs))


def _over_the_batch(network: NormalizedNetwork) -> Model:
    def init(key: jax.Array) -> Params:
        weights = network.init(key)
        return Stateful(weights, {"norm": [statistics_init(len(norm["scale"])) for norm in weights["norm"]]})

    def running(params: Params, index: int, h: jax.Array) -> jax.Array:
        state = params.state["norm"][index]
        return _normalize(params.weights["norm"][index], h, state["mean"], state["variance"])

    def apply(params: Params, x: jax.Array) -> jax.Array:
        return network.apply(params.weights, x, lambda index, h: running(params, index, h))

    def features(params: Params, x: jax.Array) -> jax.Array:
        return network.features(params.weights, x, lambda index, h: running(params, index, h))

    def apply_training(
        params: Params, x: jax.Array, weight: jax.Array, key: jax.Array | None
    ) -> tuple[jax.Array, PyTree]:
        after = []

        def norm(index: int, h: jax.Array) -> jax.Array:
            mean, variance, count = batch_statistics(h, weight)
            after.append(move_statistics(params.state["norm"][index], mean, variance, count))
            return _normalize(params.weights["norm"][index], h, mean, variance)

        outputs = network.apply(params.weights, x, norm)
        return outputs, update_state(weight, params.state, {"norm": after})

    return Model(
        init,
        apply,
        features,
        head=f"weights/{network.head}",
        apply_training=apply_training,
        state="refuse",
        layers=tuple(network.layers("batch-norm", 1, "weights/")),
    )


def statistics_init(units: int) -> PyTree:
    """The running statistics of a layer that has seen nothing."""
    return {"mean": jnp.zeros(units), "variance": jnp.ones(units)}


def batch_statistics(h: jax.Array, weight: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Mean and variance of each channel (the last axis) over the rows that are no padding, and the number of
    values that they are of.

    >>> mean, variance, count = batch_statistics(jnp.array([[1.0], [3.0], [9.0]]), jnp.array([1.0, 1.0, 0.0]))
    >>> mean.tolist(), variance.tolist(), float(count)
    ([2.0], [1.0], 2.0)
    """
    real = jnp.broadcast_to(real_rows(weight, h), (*h.shape[:-1], 1))
    axes = tuple(range(h.ndim - 1))
    count = jnp.sum(real, dtype=h.dtype)
    mean = jnp.sum(h, axes, where=real) / count
    return mean, jnp.sum((h - mean) ** 2, axes, where=real) / count, count


def move_statistics(old: PyTree, mean: jax.Array, variance: jax.Array, count: jax.Array) -> PyTree:
    """The running statistics after a mini-batch, whose variance is made unbiased.

    >>> moved = move_statistics({"mean": 0.0, "variance": 1.0}, 1.0, 1.0, 2.0)
    >>> round(float(moved["mean"]), 6), round(float(moved["variance"]), 6)
    (0.1, 1.1)
    """
    unbiased = variance * count / jnp.maximum(count - 1.0, 1.0)
    return {
        "mean": (1 - MOMENTUM) * old["mean"] + MOMENTUM * mean,
        "variance": (1 - MOMENTUM) * old["variance"] + MOMENTUM * unbiased,
    }


def _normalize(norm: PyTree, h: jax.Array, mean: jax.Array, variance: jax.Array) -> jax.Array:
    # Noise for privacy and liars can bring an averaged variance below zero.
    return norm["scale"] * (h - mean) * lax.rsqrt(jnp.maximum(variance, 0.0) + EPSILON) + norm["shift"]
