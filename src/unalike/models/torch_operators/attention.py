"""Scaled dot-product attention of PyTorch."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from .randomness import drop
from .table import Site, sited_operator


@sited_operator("aten.scaled_dot_product_attention.default")
def attention(
    site: Site,
    query: jax.Array,
    key: jax.Array,
    value: jax.Array,
    attn_mask: jax.Array | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> jax.Array:
    """softmax(Q K' / sqrt(d) + mask) V; a mask of booleans says who is attended to."""
    if enable_gqa:
        key, value = (jnp.repeat(x, query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    scores = (query @ key.swapaxes(-1, -2)) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        attn_mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    if attn_mask is not None:
        whole = attn_mask.dtype == jnp.bool_
        scores = jnp.where(attn_mask, scores, -jnp.inf) if whole else scores + attn_mask
    return drop(site, jax.nn.softmax(scores, -1), dropout_p) @ value
