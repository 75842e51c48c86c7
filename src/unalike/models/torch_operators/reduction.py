"""Reductions of PyTorch: sums, means, extremes, softmax, norms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from ...typing import Leaf
from .table import jax_type, operator

Axes = Sequence[int] | int | None


def _axes(x: Leaf, dim: Axes) -> tuple[int, ...]:
    """The axes that are meant: all of them where none is named."""
    named = (dim,) if isinstance(dim, int) else tuple(dim or ())
    return tuple(axis % x.ndim for axis in named) if named else tuple(range(x.ndim))


@operator("aten.sum.default", "aten.sum.dim_IntList")
def total(x: jax.Array, dim: Axes = None, keepdim: bool = False, *, dtype: str | None = None) -> jax.Array:
    return jnp.sum(x, _axes(x, dim), dtype=jax_type(dtype), keepdims=keepdim)


@operator("aten.mean.default", "aten.mean.dim")
def mean(x: jax.Array, dim: Axes = None, keepdim: bool = False, *, dtype: str | None = None) -> jax.Array:
    return jnp.mean(x, _axes(x, dim), dtype=jax_type(dtype), keepdims=keepdim)


@operator("aten.prod.default", "aten.prod.dim_int")
def product(x: jax.Array, dim: Axes = None, keepdim: bool = False, *, dtype: str | None = None) -> jax.Array:
    return jnp.prod(x, _axes(x, dim), dtype=jax_type(dtype), keepdims=keepdim)


@operator("aten.amax.default", "aten.max.default")
def largest(x: jax.Array, dim: Axes = None, keepdim: bool = False) -> jax.Array:
    return jnp.max(x, _axes(x, dim), keepdims=keepdim)


@operator("aten.amin.default", "aten.min.default")
def smallest(x: jax.Array, dim: Axes = None, keepdim: bool = False) -> jax.Array:
    return jnp.min(x, _axes(x, dim), keepdims=keepdim)


@operator("aten.max.dim")
def largest_and_place(x: jax.Array, dim: int, keepdim: bool = False) -> tuple[jax.Array, jax.Array]:
    return _at(x, jnp.argmax(x, dim, keepdims=True), dim, keepdim)


@operator("aten.min.dim")
def smallest_and_place(x: jax.Array, dim: int, keepdim: bool = False) -> tuple[jax.Array, jax.Array]:
    return _at(x, jnp.argmin(x, dim, keepdims=True), dim, keepdim)


def _at(x: jax.Array, places: jax.Array, dim: int, keepdim: bool) -> tuple[jax.Array, jax.Array]:
    values = jnp.take_along_axis(x, places, dim)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


@operator("aten.argmax.default")
def place_of_largest(x: jax.Array, dim: int | None = None, keepdim: bool = False) -> jax.Array:
    return jnp.argmax(x, dim, keepdims=keepdim)


@operator("aten.argmin.default")
def place_of_smallest(x: jax.Array, dim: int | None = None, keepdim: bool = False) -> jax.Array:
    return jnp.argmin(x, dim, keepdims=keepdim)


@operator("aten.any.default", "aten.any.dim", "aten.any.dims")
def any_true(x: jax.Array, dim: Axes = None, keepdim: bool = False) -> jax.Array:
    return jnp.any(x, _axes(x, dim), keepdims=keepdim)


@operator("aten.all.default", "aten.all.dim", "aten.all.dims")
def all_true(x: jax.Array, dim: Axes = None, keepdim: bool = False) -> jax.Array:
    return jnp.all(x, _axes(x, dim), keepdims=keepdim)


@operator("aten.var.correction")
def variance(
    x: jax.Array, dim: Axes = None, correction: float | None = None, keepdim: bool = False
) -> jax.Array:
    return variance_and_mean(x, dim, correction, keepdim)[0]


@operator("aten.std.correction")
def deviation(
    x: jax.Array, dim: Axes = None, correction: float | None = None, keepdim: bool = False
) -> jax.Array:
    return jnp.sqrt(variance(x, dim, correction, keepdim))


@operator("aten.var_mean.correction")
def variance_and_mean(
    x: jax.Array, dim: Axes = None, correction: float | None = None, keepdim: bool = False
) -> tuple[jax.Array, jax.Array]:
    axes = _axes(x, dim)
    rest = math.prod(x.shape[axis] for axis in axes) - (1 if correction is None else correction)
    center = jnp.mean(x, axes, keepdims=True)
    spread = jnp.sum((x - center) ** 2, axes, keepdims=keepdim) / rest
    return spread, center if keepdim else center.squeeze(axes)


@operator("aten._softmax.default", "aten.softmax.int")
def softmax(x: jax.Array, dim: int, dtype: str | bool | None = None) -> jax.Array:
    return jax.nn.softmax(x, dim)


@operator("aten._log_softmax.default", "aten.log_softmax.int")
def log_softmax(x: jax.Array, dim: int, dtype: str | bool | None = None) -> jax.Array:
    return jax.nn.log_softmax(x, dim)


@operator("aten.logsumexp.default")
def log_sum_exp(x: jax.Array, dim: Axes, keepdim: bool = False) -> jax.Array:
    return jax.nn.logsumexp(x, _axes(x, dim), keepdims=keepdim)


@operator("aten.cumsum.default")
def running_total(x: jax.Array, dim: int, dtype: str | None = None) -> jax.Array:
    return jnp.cumsum(x, dim, dtype=jax_type(dtype))


@operator("aten.cumprod.default")
def running_product(x: jax.Array, dim: int, dtype: str | None = None) -> jax.Array:
    return jnp.cumprod(x, dim, dtype=jax_type(dtype))


@operator("aten.linalg_vector_norm.default")
def vector_norm(
    x: jax.Array, order: float = 2, dim: Axes = None, keepdim: bool = False, dtype: str | None = None
) -> jax.Array:
    """The norm of an order, whose slope at zero is zero."""
    axes = _axes(x, dim)
    if math.isinf(order):
        return (jnp.max if order > 0 else jnp.min)(jnp.abs(x), axes, keepdims=keepdim)
    if order == 1:
        return jnp.sum(jnp.abs(x), axes, keepdims=keepdim)
    powers = jnp.sum(x * x if order == 2 else jnp.abs(x) ** order, axes, keepdims=keepdim)
    positive = jnp.where(powers > 0, powers, 1.0)
    return jnp.where(powers > 0, jnp.sqrt(positive) if order == 2 else positive ** (1 / order), 0.0)


@operator("aten.sort.default")
def sort(x: jax.Array, dim: int = -1, descending: bool = False) -> tuple[jax.Array, jax.Array]:
    places = jnp.argsort(x, dim, stable=True, descending=descending)
    return jnp.take_along_axis(x, places, dim), places


@operator("aten.topk.default")
def largest_k(
    x: jax.Array, k: int, dim: int = -1, largest: bool = True, in_order: bool = True
) -> tuple[jax.Array, jax.Array]:
    values, places = sort(x, dim, largest)
    chosen = [slice(None)] * x.ndim
    chosen[dim] = slice(0, k)
    return values[tuple(chosen)], places[tuple(chosen)]
