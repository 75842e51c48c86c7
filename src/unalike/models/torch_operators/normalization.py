"""Normalization layers of PyTorch: batch, layer, group, instance.

In training, batch normalization leaves out rows of weight zero, which are padding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from ...errors import ConfigError
from ..module_state import real_rows
from .table import Site, operator, sited_operator

Weights = jax.Array | None
Normalized = tuple[jax.Array, None, None]


@operator("aten._native_batch_norm_legit_no_training.default")
def batch_norm_in_evaluation(
    x: jax.Array,
    weight: Weights,
    bias: Weights,
    mean: jax.Array,
    variance: jax.Array,
    momentum: float,
    eps: float,
) -> Normalized:
    """By running statistics; a variance that noise or liars brought below zero counts as zero."""
    scale = lax.rsqrt(jnp.maximum(variance, 0.0) + eps)
    return _affine((x - _channels(mean, x)) * _channels(scale, x), weight, bias), None, None


@sited_operator("aten._native_batch_norm_legit_functional.default")
def batch_norm_in_training(
    site: Site,
    x: jax.Array,
    weight: Weights,
    bias: Weights,
    running_mean: jax.Array,
    running_variance: jax.Array,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[jax.Array | None, ...]:
    """By the mini-batch's own statistics, with which the running ones move."""
    if not training:
        given = (weight, bias, running_mean, running_variance, momentum, eps)
        return *batch_norm_in_evaluation(x, *given), running_mean, running_variance
    axes = (0, *range(2, x.ndim))
    if site.weight is None:
        count = jnp.asarray(x.size // x.shape[1], x.dtype)
        mean, real = jnp.mean(x, axes), None
    else:
        real = jnp.broadcast_to(real_rows(site.weight, x), (len(x), 1, *x.shape[2:]))
        count = jnp.sum(real, dtype=x.dtype)
        mean = jnp.sum(x, axes, where=real) / count
    centered = x - _channels(mean, x)
    variance = jnp.sum(centered**2, axes, where=real) / count
    unbiased = variance * count / jnp.maximum(count - 1.0, 1.0)
    scale = lax.rsqrt(variance + eps)
    return (
        _affine(centered * _channels(scale, x), weight, bias),
        mean,
        scale,
        (1 - momentum) * running_mean + momentum * mean,
        (1 - momentum) * running_variance + momentum * unbiased,
    )


@operator("aten._native_batch_norm_legit.no_stats")
def batch_norm_without_statistics(*arguments: object) -> Normalized:
    raise ConfigError(
        "a batch normalization of the module has track_running_stats=False, so that what it predicts for a "
        "row depends on the other rows; let it keep running statistics, or use group normalization."
    )


@operator("aten.layer_norm.default")
def layer_norm(
    x: jax.Array,
    shape: Sequence[int],
    weight: Weights = None,
    bias: Weights = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> jax.Array:
    """Over the last axes of each row."""
    h = _standardize(x, tuple(range(x.ndim - len(shape), x.ndim)), eps)
    h = h if weight is None else h * weight
    return h if bias is None else h + bias


@operator("aten.native_layer_norm.default")
def native_layer_norm(
    x: jax.Array, shape: Sequence[int], weight: Weights, bias: Weights, eps: float
) -> Normalized:
    return layer_norm(x, shape, weight, bias, eps), None, None


@operator("aten.group_norm.default")
def group_norm(
    x: jax.Array,
    groups: int,
    weight: Weights = None,
    bias: Weights = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> jax.Array:
    """Over groups of channels of each row."""
    parts = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return _affine(_standardize(parts, tuple(range(2, parts.ndim)), eps).reshape(x.shape), weight, bias)


@operator("aten.native_group_norm.default")
def native_group_norm(
    x: jax.Array, weight: Weights, bias: Weights, n: int, c: int, hxw: int, groups: int, eps: float
) -> Normalized:
    return group_norm(x, groups, weight, bias, eps), None, None


@operator("aten.instance_norm.default")
def instance_norm(
    x: jax.Array,
    weight: Weights,
    bias: Weights,
    mean: Weights,
    variance: Weights,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> jax.Array:
    """Over each channel of each row."""
    if mean is not None or not use_input_stats:
        raise ConfigError(
            "an instance normalization of the module has track_running_stats=True, which is not supported; "
            "leave it False, as it is by default."
        )
    return _affine(_standardize(x, tuple(range(2, x.ndim)), eps), weight, bias)


@operator("aten.rms_norm.default")
def rms_norm(
    x: jax.Array, shape: Sequence[int], weight: Weights = None, eps: float | None = None
) -> jax.Array:
    """Over the last axes of each row, without centering."""
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    tiny = float(jnp.finfo(x.dtype).eps) if eps is None else eps
    h = x * lax.rsqrt(jnp.mean(x**2, axes, keepdims=True) + tiny)
    return h if weight is None else h * weight


def _standardize(x: jax.Array, axes: tuple[int, ...], eps: float) -> jax.Array:
    size = math.prod(x.shape[axis] for axis in axes)
    centered = x - jnp.sum(x, axes, keepdims=True) / size
    return centered * lax.rsqrt(jnp.sum(centered**2, axes, keepdims=True) / size + eps)


def _channels(numbers: jax.Array, x: jax.Array) -> jax.Array:
    """A number per channel, the second axis, in a shape that goes with x."""
    return numbers.reshape(-1, *(1,) * (x.ndim - 2))


def _affine(h: jax.Array, weight: Weights, bias: Weights) -> jax.Array:
    h = h if weight is None else h * _channels(weight, h)
    return h if bias is None else h + _channels(bias, h)
