"""Random operators of PyTorch, drawn from the mini-batch's key, each site for itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ...typing import Leaf
from .table import Site, jax_type, sited_operator

RANDOM = (
    "aten.native_dropout.default",
    "aten.bernoulli.p",
    "aten.bernoulli.default",
    "aten.rand.default",
    "aten.rand_like.default",
    "aten.randn.default",
    "aten.randn_like.default",
)
"""Operators that draw; a module that has some when it predicts is refused."""


def drop(site: Site, x: jax.Array, rate: float, part: int = 0) -> jax.Array:
    """Dropout: entries are zero with probability `rate`, the others are scaled up; x itself without a key."""
    if site.key is None or rate == 0.0:
        return x
    if rate == 1.0:
        return jnp.zeros_like(x)
    keep = jax.random.bernoulli(site.draw(part), 1.0 - rate, x.shape)
    return jnp.where(keep, x / (1.0 - rate), 0.0)


@sited_operator("aten.native_dropout.default")
def dropout(site: Site, x: jax.Array, p: float, train: bool | None = True) -> tuple[jax.Array, None]:
    return (drop(site, x, p) if train else x), None


@sited_operator("aten.bernoulli.p")
def bernoulli_of(site: Site, x: jax.Array, p: float = 0.5) -> jax.Array:
    """Ones with probability p, which is their mean, and the answer where nothing is drawn."""
    if site.key is None:
        return jnp.full(x.shape, p, x.dtype)
    return jax.random.bernoulli(site.draw(), p, x.shape).astype(x.dtype)


@sited_operator("aten.bernoulli.default")
def bernoulli(site: Site, p: jax.Array) -> jax.Array:
    return p if site.key is None else jax.random.bernoulli(site.draw(), p).astype(p.dtype)


@sited_operator("aten.rand.default")
def uniform(site: Site, size: Sequence[int], dtype: str | None = None, **others: Any) -> jax.Array:
    return _draw(site, jax.random.uniform, size, dtype, 0.5)


@sited_operator("aten.rand_like.default")
def uniform_like(site: Site, x: Leaf, dtype: str | None = None, **others: Any) -> jax.Array:
    return _draw(site, jax.random.uniform, x.shape, dtype or str(x.dtype), 0.5)


@sited_operator("aten.randn.default")
def normal(site: Site, size: Sequence[int], dtype: str | None = None, **others: Any) -> jax.Array:
    return _draw(site, jax.random.normal, size, dtype, 0.0)


@sited_operator("aten.randn_like.default")
def normal_like(site: Site, x: Leaf, dtype: str | None = None, **others: Any) -> jax.Array:
    return _draw(site, jax.random.normal, x.shape, dtype or str(x.dtype), 0.0)


def _draw(site: Site, draw: Any, size: Sequence[int], dtype: str | None, mean: float) -> jax.Array:
    kind = jax_type(dtype) or jnp.dtype("float32")
    return jnp.full(size, mean, kind) if site.key is None else draw(site.draw(), tuple(size), kind)
