"""Convolutions of PyTorch in one, two and three dimensions, also transposed ones.

Plain `lax.conv_general_dilated`, so that :mod:`..convolution_layout` brings them into the fast layout.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from .table import operator


@operator("aten.convolution.default")
def convolution(
    x: jax.Array,
    weight: jax.Array,
    bias: jax.Array | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> jax.Array:
    """Over (rows, channels, *space) with filters (outputs, inputs / groups, *space); of a transposed one,
    (inputs, outputs / groups, *space)."""
    dims = weight.ndim - 2
    stride, padding, dilation, output_padding = (
        tuple(numbers) * (dims if len(numbers) == 1 else 1)
        for numbers in (stride, padding, dilation, output_padding)
    )
    if transposed:
        size = weight.shape[2:]
        weight = _turned(weight, groups)
        reach = [d * (k - 1) for d, k in zip(dilation, size, strict=True)]
        ends = [(r - p, r - p + o) for r, p, o in zip(reach, padding, output_padding, strict=True)]
        steps, spread = (1,) * dims, stride
    else:
        ends, steps, spread = [(p, p) for p in padding], stride, (1,) * dims
    answer = lax.conv_general_dilated(
        x, weight, steps, ends, lhs_dilation=spread, rhs_dilation=dilation, feature_group_count=groups
    )
    return answer if bias is None else answer + bias.reshape(-1, *(1,) * dims)


def _turned(weight: jax.Array, groups: int) -> jax.Array:
    """The filters of a transposed convolution as those of one over its spread input."""
    inputs, outputs, *space = weight.shape
    parts = weight.reshape(groups, inputs // groups, outputs, *space).swapaxes(1, 2)
    return jnp.flip(parts.reshape(groups * outputs, inputs // groups, *space), range(2, 2 + len(space)))
