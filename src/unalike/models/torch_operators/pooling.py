"""Pooling and resizing of PyTorch. Images are (rows, channels, *space)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ...errors import ConfigError
from ...typing import Array
from ..convolutional_networks import max_pool as max_pool_squares
from .table import operator

Sizes = Sequence[int]


@operator("aten.max_pool2d_with_indices.default", "aten.max_pool3d_with_indices.default")
def max_pool(
    x: jax.Array,
    kernel_size: Sizes,
    stride: Sizes = (),
    padding: Sizes = (0,),
    dilation: Sizes = (1,),
    ceil_mode: bool = False,
) -> tuple[jax.Array, None]:
    """The largest of every window; where they are is not known here."""
    dims = _dims(kernel_size, x)
    kernel, steps = _full(kernel_size, dims), _full(stride or kernel_size, dims)
    padding, dilation = _full(padding, dims), _full(dilation, dims)
    if (kernel, steps, padding, dilation, x.ndim) == ((2, 2), (2, 2), (0, 0), (1, 1), 4) and not (
        ceil_mode and any(size % 2 for size in x.shape[2:])
    ):
        return max_pool_squares(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2), None
    ends = _ends(x.shape[-dims:], kernel, steps, padding, dilation, ceil_mode)
    lead = x.ndim - dims
    if dilation != (1,) * dims:
        return _dilated_max(x, kernel, steps, ends, dilation), None
    largest = lax.reduce_window(
        x,
        -jnp.inf if jnp.issubdtype(x.dtype, jnp.floating) else jnp.iinfo(x.dtype).min,
        lax.max,
        (*(1,) * lead, *kernel),
        (*(1,) * lead, *steps),
        (*((0, 0),) * lead, *ends),
    )
    return largest, None


def _dilated_max(
    x: jax.Array, kernel: Sizes, steps: Sizes, ends: Sequence[tuple[int, int]], dilation: Sizes
) -> jax.Array:
    """Over windows with gaps, of which JAX's own maximum has no gradient."""
    x = jnp.pad(x, [(0, 0)] * (x.ndim - len(kernel)) + list(ends), constant_values=-jnp.inf)
    sizes = zip(x.shape[-len(kernel) :], kernel, steps, dilation, strict=True)
    last = [s * ((n - d * (k - 1) - 1) // s) for n, k, s, d in sizes]
    parts = [
        x[
            (
                ...,
                *(
                    slice(d * i, d * i + n + 1, s)
                    for d, i, n, s in zip(dilation, place, last, steps, strict=True)
                ),
            )
        ]
        for place in itertools.product(*map(range, kernel))
    ]
    stacked = jnp.stack(parts)
    return jnp.take_along_axis(stacked, jnp.argmax(stacked, 0, keepdims=True), 0)[0]


@operator("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default")
def average_pool(
    x: jax.Array,
    kernel_size: Sizes,
    stride: Sizes = (),
    padding: Sizes = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> jax.Array:
    """The mean of every window."""
    dims = _dims(kernel_size, x)
    kernel, steps, padding = (
        _full(kernel_size, dims),
        _full(stride or kernel_size, dims),
        _full(padding, dims),
    )
    ends = _ends(x.shape[-dims:], kernel, steps, padding, (1,) * dims, ceil_mode)
    lead = x.ndim - dims
    window, strides = (*(1,) * lead, *kernel), (*(1,) * lead, *steps)
    total = lax.reduce_window(x, 0.0, lax.add, window, strides, (*((0, 0),) * lead, *ends))
    if divisor_override is not None:
        return total / divisor_override
    counted = np.ones(x.shape[-dims:], np.float32)
    if count_include_pad:
        counted = np.pad(counted, [(p, p) for p in padding], constant_values=1.0)
        ends = [(0, high - p) for (_, high), p in zip(ends, padding, strict=True)]
    return total / _count(counted, kernel, steps, ends)


def _count(counted: Array, kernel: Sizes, steps: Sizes, ends: Sequence[tuple[int, int]]) -> Array:
    """How many places of every window count."""
    counted = np.pad(counted, [(low, max(high, 0)) for low, high in ends])
    windows = np.lib.stride_tricks.sliding_window_view(counted, tuple(kernel))
    chosen = windows[tuple(slice(None, None, step) for step in steps)]
    limits = tuple(slice(0, (n - k) // s + 1) for n, k, s in zip(counted.shape, kernel, steps, strict=True))
    return chosen[limits].sum(tuple(range(-len(kernel), 0)))


@operator(
    "aten._adaptive_avg_pool2d.default",
    "aten._adaptive_avg_pool3d.default",
    "aten.adaptive_avg_pool1d.default",
    "aten.adaptive_avg_pool2d.default",
)
def adaptive_average_pool(x: jax.Array, output_size: Sizes) -> jax.Array:
    """Means over as many windows as are asked for, which overlap where the sizes do not divide."""
    for axis, size in zip(range(x.ndim - len(output_size), x.ndim), output_size, strict=True):
        if x.shape[axis] % size == 0:
            parts = (*x.shape[:axis], size, x.shape[axis] // size, *x.shape[axis + 1 :])
            x = x.reshape(parts).mean(axis + 1)
        else:
            x = jnp.moveaxis(jnp.moveaxis(x, axis, -1) @ _means(x.shape[axis], size).T, -1, axis)
    return x


def _means(length: int, size: int) -> Array:
    """The matrix that takes means over adaptive windows."""
    rows = np.zeros((size, length), np.float32)
    for row, (first, last) in enumerate(_windows(length, size)):
        rows[row, first:last] = 1 / (last - first)
    return rows


def _windows(length: int, size: int) -> list[tuple[int, int]]:
    return [(i * length // size, -(-(i + 1) * length // size)) for i in range(size)]


@operator(
    "aten.adaptive_max_pool1d.default",
    "aten.adaptive_max_pool2d.default",
    "aten.adaptive_max_pool3d.default",
)
def adaptive_max_pool(x: jax.Array, output_size: Sizes) -> tuple[jax.Array, None]:
    """Maxima over as many windows as are asked for."""
    for axis, size in zip(range(x.ndim - len(output_size), x.ndim), output_size, strict=True):
        parts = [lax.slice_in_dim(x, *ends, axis=axis).max(axis) for ends in _windows(x.shape[axis], size)]
        x = jnp.stack(parts, axis)
    return x, None


@operator("aten.upsample_nearest1d.vec", "aten.upsample_nearest2d.vec", "aten.upsample_nearest3d.vec")
def upsample_nearest(
    x: jax.Array, output_size: Sizes | None, scale_factors: Sequence[float] | None
) -> jax.Array:
    """Every place takes the value of the one that it comes from."""
    sizes = _output_sizes(x, output_size, scale_factors)
    for axis, size in enumerate(sizes, 2):
        scale = 1 / scale_factors[axis - 2] if scale_factors else x.shape[axis] / size
        places = np.minimum(np.floor(np.arange(size) * np.float32(scale)), x.shape[axis] - 1).astype(np.int32)
        if size % x.shape[axis] == 0 and np.array_equal(places, np.arange(size) // (size // x.shape[axis])):
            x = jnp.repeat(x, size // x.shape[axis], axis)
        else:
            x = jnp.take(x, places, axis)
    return x


@operator("aten.upsample_linear1d.vec", "aten.upsample_bilinear2d.vec", "aten.upsample_trilinear3d.vec")
def upsample_linear(
    x: jax.Array,
    output_size: Sizes | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None,
) -> jax.Array:
    """Every place takes a mean of its neighbors, by distance."""
    sizes = _output_sizes(x, output_size, scale_factors)
    for axis, size in enumerate(sizes, 2):
        scale = scale_factors[axis - 2] if scale_factors else None
        matrix = _interpolation(x.shape[axis], size, align_corners, scale)
        x = jnp.moveaxis(jnp.moveaxis(x, axis, -1) @ matrix.T, -1, axis)
    return x


def _interpolation(length: int, size: int, align_corners: bool, scale: float | None) -> Array:
    """The matrix of linear interpolation from `length` places to `size`."""
    if align_corners:
        places = np.arange(size) * ((length - 1) / (size - 1) if size > 1 else 0.0)
    else:
        places = np.maximum((np.arange(size) + 0.5) * (1 / scale if scale else length / size) - 0.5, 0.0)
    low = np.minimum(places.astype(np.int64), length - 1)
    high, share = np.minimum(low + 1, length - 1), places - low
    matrix = np.zeros((size, length), np.float32)
    np.add.at(matrix, (np.arange(size), low), 1 - share)
    np.add.at(matrix, (np.arange(size), high), share)
    return matrix


def _output_sizes(
    x: jax.Array, output_size: Sizes | None, scale_factors: Sequence[float] | None
) -> list[int]:
    if output_size is not None:
        return list(output_size)
    if scale_factors is None:
        raise ConfigError("an upsampling of the module has neither a size nor a scale.")
    return [math.floor(n * factor) for n, factor in zip(x.shape[2:], scale_factors, strict=True)]


def _dims(kernel_size: Sizes, x: jax.Array) -> int:
    return len(kernel_size) if len(kernel_size) > 1 else max(len(kernel_size), x.ndim - 2)


def _full(numbers: Sizes, dims: int) -> tuple[int, ...]:
    return tuple(numbers) * (dims if len(numbers) == 1 else 1)


def _ends(
    space: Sizes, kernel: Sizes, steps: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> list[tuple[int, int]]:
    """The padding before and after each axis; after it there may be more where sizes are rounded up."""
    found = []
    for n, k, s, p, d in zip(space, kernel, steps, padding, dilation, strict=True):
        reach = d * (k - 1) + 1
        count = (n + 2 * p - reach) // s + 1
        if ceil_mode:
            count = -(-(n + 2 * p - reach) // s) + 1
            count -= (count - 1) * s >= n + p  # a window must begin in the image or its left padding
        found.append((p, max((count - 1) * s + reach - n - p, p) if ceil_mode else p))
    return found


@operator("aten.im2col.default")
def unfold(x: jax.Array, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> jax.Array:
    """Sliding windows as columns."""
    (kh, kw), (dh, dw), (sh, sw) = kernel_size, dilation, stride
    x = jnp.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    high, wide = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1, (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
    parts = [
        x[:, :, i * dh : i * dh + sh * (high - 1) + 1 : sh, j * dw : j * dw + sw * (wide - 1) + 1 : sw]
        for i, j in itertools.product(range(kh), range(kw))
    ]
    return jnp.stack(parts, 2).reshape(x.shape[0], -1, high * wide)
