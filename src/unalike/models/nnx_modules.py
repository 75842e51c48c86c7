"""Flax NNX modules as models.

A module of NNX holds its parameters, so a module is a start of its own: every run begins where it is. To
begin elsewhere with every seed, give a function of `rngs` that builds it. In training it is in its training
mode (`module.train()`); dropout draws from the mini-batch's key, and running statistics change as the choice
of :mod:`.module_state` says. Mini-batches are padded, so batch normalization is told which rows are real.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax

from ..core.extras import import_extra
from ..errors import ConfigError
from ..typing import Params, PyTree
from .model import Model
from .module_state import Stateful, check_floats, choose_state, real_rows, update_state
from .unsupported_modules import check_library, is_nnx


def from_nnx(make: Any, state: str = "refuse") -> Model:
    """A `flax.nnx` module, or a function that builds it from `rngs`; `state` says what becomes of running
    statistics."""
    check_library(make, "flax", "from_nnx")
    nnx = import_extra("flax.nnx", "flax", "from_nnx")
    if not is_nnx(make) and not callable(make):
        raise ConfigError(f"from_nnx takes a module of flax.nnx, but this is a {type(make).__name__}.")
    found = _Parts.of(nnx, make, jax.random.key(0))
    if not found.statistics:
        return Model(found.weights, found.apply, apply_noisy=found.apply_noisy)
    choice = choose_state(state, "running statistics")
    check_floats(found.statistics)
    return Model(found.with_state, found.apply, apply_training=found.apply_training, state=choice)


@dataclass(frozen=True)
class _Parts:
    """The functions of a model, of a module that was taken apart."""

    nnx: ModuleType
    make: Any
    graph: object
    parts: tuple[PyTree, PyTree, PyTree]
    """Parameters, running statistics, and the rest."""

    @classmethod
    def of(cls, nnx: ModuleType, make: Any, key: jax.Array) -> _Parts:
        graph, *parts = nnx.split(_build(nnx, make, key), nnx.Param, nnx.BatchStat, ...)
        return cls(nnx, make, graph, tuple(parts))

    @property
    def statistics(self) -> PyTree:
        return self.nnx.to_pure_dict(self.parts[1])

    def weights(self, key: jax.Array) -> Params:
        return self.nnx.to_pure_dict(self._fresh(key).parts[0])

    def with_state(self, key: jax.Array) -> Params:
        fresh = self._fresh(key)
        return Stateful(self.nnx.to_pure_dict(fresh.parts[0]), fresh.statistics)

    def apply(self, params: Params, x: jax.Array) -> jax.Array:
        module = self._assembled(params)
        module.eval()
        return module(x)

    def apply_noisy(self, params: Params, x: jax.Array, key: jax.Array | None) -> jax.Array:
        return self._trained(params, key)(x)

    def apply_training(
        self, params: Params, x: jax.Array, weight: jax.Array, key: jax.Array | None
    ) -> tuple[jax.Array, PyTree]:
        module = self._trained(params, key)
        _tell_padding(self.nnx, module, weight)
        outputs = module(x)
        after = self.nnx.to_pure_dict(self.nnx.state(module, self.nnx.BatchStat))
        return outputs, update_state(weight, params.state, after)

    def _fresh(self, key: jax.Array) -> _Parts:
        return self if _is_module(self.make) else _Parts.of(self.nnx, self.make, key)

    def _assembled(self, params: Params) -> Any:
        """A module with these parameters, made anew: variables of NNX belong to the trace that made them."""
        whole = params if isinstance(params, Stateful) else Stateful(params, {})
        parts = [jax.tree.map(lambda leaf: leaf, part) for part in self.parts]
        for part, values in zip(parts, whole, strict=False):
            self.nnx.replace_by_pure_dict(part, values)
        return self.nnx.merge(self.graph, *parts)

    def _trained(self, params: Params, key: jax.Array | None) -> Any:
        module = self._assembled(params)
        module.train()
        if key is not None:
            self.nnx.reseed(module, default=key, dropout=key, policy="match_shape")
        return module


def _is_module(make: object) -> bool:
    return is_nnx(make) and not isinstance(make, type)


def _build(nnx: ModuleType, make: Any, key: jax.Array) -> Any:
    made = make if _is_module(make) else make(nnx.Rngs(key))
    if not is_nnx(made):
        raise ConfigError(f"from_nnx was given a function that builds a {type(made).__name__}, no module.")
    return made


def _tell_padding(nnx: Any, module: Any, weight: jax.Array) -> None:
    """Let every batch normalization of a module, which is used once, leave out rows of weight zero."""

    class Masked(nnx.BatchNorm):
        def __call__(self, x: jax.Array, *args: object, **kwargs: object) -> jax.Array:
            return super().__call__(x, *args, **{"mask": real_rows(weight, x), **kwargs})

    for _, part in nnx.iter_modules(module):
        if type(part) is nnx.BatchNorm:
            object.__setattr__(part, "__class__", Masked)
