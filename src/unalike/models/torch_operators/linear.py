"""Products of matrices, dense layers and embeddings of PyTorch."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ...typing import Leaf
from .table import operator

for _name in ("mm", "bmm", "matmul", "mv", "dot"):
    operator(f"aten.{_name}.default")(jnp.matmul)


@operator("aten.linear.default")
def linear(x: jax.Array, weight: jax.Array, bias: jax.Array | None = None) -> jax.Array:
    product = x @ weight.T
    return product if bias is None else product + bias


@operator("aten.addmm.default", "aten.baddbmm.default", "aten.addmv.default")
def add_product(x: jax.Array, a: jax.Array, b: jax.Array, beta: float = 1, alpha: float = 1) -> jax.Array:
    product = a @ b if alpha == 1 else alpha * (a @ b)
    return product + (x if beta == 1 else beta * x)


@operator("aten.embedding.default")
def embedding(
    weight: jax.Array,
    symbols: Leaf,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> jax.Array:
    """Rows of a table; that of padding is not trained."""
    if padding_idx >= 0:
        weight = weight.at[padding_idx].set(lax.stop_gradient(weight[padding_idx]))
    return weight[symbols]
