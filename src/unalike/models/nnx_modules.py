"""How does a module of Flax NNX become a model?

A module of NNX holds its parameters, so a module is a start of its own: every run begins where it is. To
begin elsewhere with every seed, give a function of `rngs` that builds it. In training it is in its training
mode (`module.train()`); dropout draws from the mini-batch's key, and running statistics change as the choice
of :mod:`.module_state` says. Mini-batches are padded, so batch normalisation is told which rows are real.
"""

from __future__ import annotations

from typing import Any

import jax

from ..core.extras import import_extra
from ..errors import ConfigError
from ..typing import Params, PyTree
from .foreign import check_library, is_nnx
from .model import Model
from .module_state import Stateful, check_floats, choose_state, moved_state, real_rows


def from_nnx(make: Any, state: str = "refuse") -> Model:
    """A `flax.nnx` module, or a function that builds it from `rngs`; `state` says what becomes of running
    statistics."""
    check_library(make, "flax", "from_nnx")
    nnx = import_extra("flax.nnx", "flax", "from_nnx")
    if not is_nnx(make) and not callable(make):
        raise ConfigError(f"from_nnx takes a module of flax.nnx, but this is a {type(make).__name__}.")
    built = make if is_nnx(make) and not isinstance(make, type) else _build(nnx, make, jax.random.key(0))
    graph, first, stats, rest = nnx.split(built, nnx.Param, nnx.BatchStat, ...)
    arrays = {"params": nnx.to_pure_dict(first), "stats": nnx.to_pure_dict(stats)}
    choice = choose_state(state, "running statistics") if arrays["stats"] else None
    check_floats(arrays["stats"])

    def init(key: jax.Array) -> Params:
        fresh = arrays
        if built is not make:
            _, weights, statistics, _ = nnx.split(_build(nnx, make, key), nnx.Param, nnx.BatchStat, ...)
            fresh = {"params": nnx.to_pure_dict(weights), "stats": nnx.to_pure_dict(statistics)}
        return fresh["params"] if choice is None else Stateful(fresh["params"], fresh["stats"])

    def assemble(params: Params) -> Any:
        whole = params if isinstance(params, Stateful) else Stateful(params, {})
        parts = [jax.tree.map(lambda leaf: leaf, part) for part in (first, stats, rest)]
        for part, values in zip(parts, whole, strict=False):
            nnx.replace_by_pure_dict(part, values)
        return nnx.merge(graph, *parts)

    def apply(params: Params, x: jax.Array) -> jax.Array:
        module = assemble(params)
        module.eval()
        return module(x)

    def apply_noisy(params: Params, x: jax.Array, key: jax.Array) -> jax.Array:
        return _trained(nnx, assemble(params), key)(x)

    def apply_training(
        params: Params, x: jax.Array, weight: jax.Array, key: jax.Array | None
    ) -> tuple[jax.Array, PyTree]:
        module = _trained(nnx, assemble(params), key)
        _tell_padding(nnx, module, weight)
        outputs = module(x)
        return outputs, moved_state(weight, params.state, nnx.to_pure_dict(nnx.state(module, nnx.BatchStat)))

    if choice is None:
        return Model(init, apply, apply_noisy=apply_noisy)
    return Model(init, apply, apply_training=apply_training, state=choice)


def _build(nnx: Any, make: Any, key: jax.Array) -> Any:
    made = make(nnx.Rngs(key))
    if not is_nnx(made):
        raise ConfigError(f"from_nnx was given a function that builds a {type(made).__name__}, no module.")
    return made


def _trained(nnx: Any, module: Any, key: jax.Array | None) -> Any:
    module.train()
    if key is not None:
        nnx.reseed(module, default=key, dropout=key, policy="match_shape")
    return module


def _tell_padding(nnx: Any, module: Any, weight: jax.Array) -> None:
    """Let every batch normalisation of a module, which is used once, leave out rows of weight zero."""

    class Masked(nnx.BatchNorm):
        def __call__(self, x: jax.Array, *args: Any, **kwargs: Any) -> jax.Array:
            return super().__call__(x, *args, **{"mask": real_rows(weight, x), **kwargs})

    for _, part in nnx.iter_modules(module):
        if type(part) is nnx.BatchNorm:
            object.__setattr__(part, "__class__", Masked)
