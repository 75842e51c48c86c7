"""Shapes, places and new tensors of PyTorch: views, slices, gathering, constants.

Tensors made of constants are NumPy's, so that operators can tell that they are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...typing import Array, Leaf
from .table import Swapped, jax_type, operator, turn

Sizes = Sequence[int]
_END = 2**63 - 1
"""What PyTorch says for the end of an axis."""


@operator(
    "aten.clone.default",
    "aten.alias.default",
    "aten.contiguous.default",
    "aten.lift_fresh_copy.default",
    "aten.lift_fresh.default",
)
def same(x: Leaf, **layout: Any) -> Leaf:
    return x


@operator("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default")
def view(x: Leaf, size: Sizes) -> Leaf:
    return x.reshape(tuple(size))


@operator("aten.permute.default")
def permute(x: Leaf, dims: Sizes) -> Leaf:
    return x.transpose(tuple(axis % x.ndim for axis in dims))


@operator("aten.transpose.int")
def transpose(x: Leaf, first: int, second: int) -> Leaf:
    return x.swapaxes(first, second)


@operator("aten.t.default")
def transpose_matrix(x: Leaf) -> Leaf:
    return x.T


@operator("aten.unsqueeze.default")
def unsqueeze(x: Leaf, dim: int) -> Leaf:
    return jnp.expand_dims(x, dim)


@operator("aten.squeeze.dim", "aten.squeeze.dims", "aten.squeeze.default")
def squeeze(x: Leaf, dim: int | Sizes | None = None) -> Leaf:
    axes = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    return x.reshape([n for i, n in enumerate(x.shape) if n != 1 or i not in [a % x.ndim for a in axes]])


@operator("aten.expand.default")
def expand(x: Leaf, size: Sizes, implicit: bool = False) -> Leaf:
    new = len(size) - x.ndim
    shape = [x.shape[i - new] if n == -1 else n for i, n in enumerate(size)]
    return jnp.broadcast_to(x, shape)


@operator("aten.repeat.default")
def repeat(x: Leaf, repeats: Sizes) -> Leaf:
    return jnp.tile(x, tuple(repeats))


@operator("aten.cat.default")
def concatenate(tensors: Sequence[Leaf], dim: int = 0) -> Leaf:
    return jnp.concatenate([x for x in tensors if x.shape != (0,)], dim)


@operator("aten.stack.default")
def stack(tensors: Sequence[Leaf], dim: int = 0) -> Leaf:
    return jnp.stack(tensors, dim)


@operator("aten.split.Tensor")
def split(x: Leaf, size: int, dim: int = 0) -> list[Leaf]:
    return jnp.split(x, list(range(size, x.shape[dim], size)), dim)


@operator("aten.split_with_sizes.default")
def split_with_sizes(x: Leaf, sizes: Sizes, dim: int = 0) -> list[Leaf]:
    return jnp.split(x, np.cumsum(sizes)[:-1].tolist(), dim)


@operator("aten.unbind.int")
def unbind(x: Leaf, dim: int = 0) -> list[Leaf]:
    return [part.squeeze(dim) for part in jnp.split(x, x.shape[dim], dim)]


def _along(x: Leaf, dim: int, chosen: slice | int) -> tuple[slice | int, ...]:
    places: list[slice | int] = [slice(None)] * x.ndim
    places[dim] = chosen
    return tuple(places)


@operator("aten.slice.Tensor")
def cut(x: Leaf, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Leaf:
    if not start and step == 1 and (end is None or end == _END):
        return x
    x = turn(x)
    return x[_along(x, dim, slice(start, end, step))]


@operator("aten.select.int")
def select(x: Leaf, dim: int, index: int) -> Leaf:
    if isinstance(x, Swapped) and dim in (0, 1):
        return x.array[_along(x.array, 1 - dim, index)]
    x = turn(x)
    return x[_along(x, dim, index)]


@operator("aten.slice_scatter.default")
def write_slice(
    x: jax.Array, source: Leaf, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> jax.Array:
    return jnp.asarray(x).at[_along(x, dim, slice(start, end, step))].set(source)


@operator("aten.select_scatter.default")
def write_one(x: jax.Array, source: Leaf, dim: int, index: int) -> jax.Array:
    return jnp.asarray(x).at[_along(x, dim, index)].set(source)


@operator("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(x: jax.Array, indices: Sequence[Leaf]) -> jax.Array:
    return jnp.asarray(x)[tuple(slice(None) if one is None else one for one in indices)]


@operator("aten.index_put.default", "aten._unsafe_index_put.default")
def index_put(x: jax.Array, indices: Sequence[Leaf], values: Leaf, accumulate: bool = False) -> jax.Array:
    places = jnp.asarray(x).at[tuple(slice(None) if one is None else one for one in indices)]
    return places.add(values) if accumulate else places.set(values)


@operator("aten.index_select.default")
def index_select(x: jax.Array, dim: int, places: Leaf) -> jax.Array:
    return jnp.take(x, places, dim)


@operator("aten.gather.default")
def gather(x: jax.Array, dim: int, places: Leaf, sparse_grad: bool = False) -> jax.Array:
    cut_to = tuple(slice(0, n) if i != dim % x.ndim else slice(None) for i, n in enumerate(places.shape))
    return jnp.take_along_axis(x[cut_to], places, dim)


@operator("aten.flip.default")
def flip(x: Leaf, dims: Sizes) -> Leaf:
    return jnp.flip(x, tuple(dims))


@operator("aten.roll.default")
def roll(x: Leaf, shifts: Sizes, dims: Sizes = ()) -> Leaf:
    return jnp.roll(x, tuple(shifts), tuple(dims)) if dims else jnp.roll(x, shifts[0])


@operator("aten.constant_pad_nd.default")
def pad(x: jax.Array, pad: Sizes, value: float = 0.0) -> jax.Array:
    """Pairs of numbers from the last axis on; negative ones cut."""
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    x = jnp.pad(x, [(max(a, 0), max(b, 0)) for a, b in pairs], constant_values=value)
    return x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))]


@operator("aten.tril.default")
def lower_triangle(x: Leaf, diagonal: int = 0) -> Leaf:
    return jnp.tril(x, diagonal)


@operator("aten.triu.default")
def upper_triangle(x: Leaf, diagonal: int = 0) -> Leaf:
    return jnp.triu(x, diagonal)


@operator("aten.diagonal.default")
def diagonal(x: Leaf, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Leaf:
    return jnp.diagonal(x, offset, dim1, dim2)


@operator("aten.copy.default")
def copy(x: Leaf, source: Leaf, non_blocking: bool = False) -> Leaf:
    return jnp.broadcast_to(source, x.shape).astype(x.dtype)


@operator("aten._to_copy.default", "aten.to.dtype")
def convert(x: Leaf, dtype: str | None = None, **layout: Any) -> Leaf:
    return x if dtype is None else x.astype(jax_type(dtype))


@operator("aten.full.default")
def full(size: Sizes, value: float, dtype: str | None = None, **layout: Any) -> Array:
    return np.full(tuple(size), value, _type_of(value, dtype))


@operator("aten.full_like.default")
def full_like(x: Leaf, value: float, dtype: str | None = None, **layout: Any) -> Array:
    return np.full(x.shape, value, jax_type(dtype) or x.dtype)


@operator("aten.zeros.default", "aten.empty.memory_format", "aten.empty_permuted.default")
def zeros(size: Sizes, order: Sizes = (), dtype: str | None = None, **layout: Any) -> Array:
    return np.zeros(tuple(size), jax_type(dtype) or np.float32)


@operator("aten.ones.default")
def ones(size: Sizes, dtype: str | None = None, **layout: Any) -> Array:
    return np.ones(tuple(size), jax_type(dtype) or np.float32)


@operator("aten.zeros_like.default", "aten.empty_like.default")
def zeros_like(x: Leaf, dtype: str | None = None, **layout: Any) -> Array:
    return full_like(x, 0, dtype)


@operator("aten.ones_like.default")
def ones_like(x: Leaf, dtype: str | None = None, **layout: Any) -> Array:
    return full_like(x, 1, dtype)


@operator("aten.scalar_tensor.default")
def scalar(value: float, dtype: str | None = None, **layout: Any) -> Array:
    return np.asarray(value, _type_of(value, dtype))


@operator("aten.fill.Scalar", "aten.fill.Tensor")
def fill(x: Leaf, value: Leaf) -> Leaf:
    return jnp.full(x.shape, value, x.dtype)


@operator("aten.arange.default", "aten.arange.start", "aten.arange.start_step")
def arange(
    start: float, end: float | None = None, step: float = 1, dtype: str | None = None, **layout: Any
) -> Array:
    first, last = (0, start) if end is None else (start, end)
    whole = all(isinstance(number, int) for number in (first, last, step))
    return np.arange(first, last, step).astype(jax_type(dtype) or (np.int32 if whole else np.float32))


@operator("aten.one_hot.default")
def one_hot(x: Leaf, classes: int) -> jax.Array:
    return jax.nn.one_hot(x, classes, dtype=jnp.int32)


@operator("aten.sym_size.int")
def size(x: Leaf, dim: int) -> int:
    return int(x.shape[dim])


def _type_of(value: float, dtype: str | None) -> jnp.dtype | type:
    if dtype is not None:
        return jax_type(dtype) or np.float32
    return np.bool_ if isinstance(value, bool) else np.int32 if isinstance(value, int) else np.float32
