"""Flax (linen) modules as models.

Parameters in, predictions out. A module that behaves differently during training has a flag for it in its
`__call__`, such as `train`; then dropout draws from the mini-batch's key, and state changes as the choice of
:mod:`.module_state` says. Mini-batches are padded, so batch normalization is told which rows are real.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp

from ..core.extras import import_extra
from ..errors import ConfigError
from ..typing import Keywords, Params, PyTree
from .model import Model
from .module_state import Stateful, check_floats, choose_state, real_rows, update_state, weights_of
from .unsupported_modules import check_library, is_nnx

_TRAINS = {
    "train": True,
    "training": True,
    "is_training": True,
    "deterministic": False,
    "use_running_average": False,
}
"""Arguments by which a module is told that it is trained, and what they are then."""


def from_flax(
    module: Any, input_shape: tuple[int, ...], dtype: Any = jnp.float32, state: str = "refuse"
) -> Model:
    """A `flax.linen` module; `state` says what becomes of variables that are no parameters."""
    _check(module)
    linen = _Linen(module, (1, *input_shape), dtype)
    variables = jax.eval_shape(linen.variables, jax.random.key(0))
    kept = sorted(set(variables) - {"params"})
    if not kept:
        return Model(linen.weights, linen.apply, apply_noisy=linen.apply_noisy if linen.flags else None)
    choice = choose_state(state, ", ".join(kept))
    check_floats({name: variables[name] for name in kept})
    if not linen.flags:
        raise ConfigError(
            f"{type(module).__name__} keeps state ({', '.join(kept)}), but its __call__ is not told when it "
            f"is trained; give it an argument such as train=False ({', '.join(_TRAINS)} are known)."
        )
    return Model(linen.with_state, linen.apply, apply_training=linen.apply_training, state=choice)


def _check(module: Any) -> None:
    check_library(module, "flax", "from_flax")
    if is_nnx(module):
        raise ConfigError("from_flax takes modules of flax.linen, but this is one of flax.nnx; use from_nnx.")
    if isinstance(module, type):
        raise ConfigError(f"from_flax takes a module, not its class; give {module.__name__}(...).")


@dataclass(frozen=True)
class _Linen:
    """The functions of a model, of a module."""

    module: Any
    shape: tuple[int, ...]
    dtype: Any

    @cached_property
    def flags(self) -> dict[str, bool]:
        """How the module is told that it is trained."""
        known = inspect.signature(type(self.module).__call__).parameters
        return {name: value for name, value in _TRAINS.items() if name in known}

    @cached_property
    def quiet(self) -> dict[str, bool]:
        """How the module is told that it predicts."""
        return {name: not value for name, value in self.flags.items()}

    def variables(self, key: jax.Array) -> PyTree:
        return self.module.init(key, jnp.zeros(self.shape, self.dtype), **self.quiet)

    def weights(self, key: jax.Array) -> Params:
        return self.variables(key).get("params", {})

    def with_state(self, key: jax.Array) -> Params:
        made = self.variables(key)
        return Stateful(made.get("params", {}), {k: v for k, v in made.items() if k != "params"})

    def apply(self, params: Params, x: jax.Array) -> jax.Array:
        return self.module.apply(_variables(params), x, **self.quiet)

    def apply_noisy(self, params: Params, x: jax.Array, key: jax.Array) -> jax.Array:
        return self.module.apply(_variables(params), x, **self.flags, rngs={"dropout": key})

    def apply_training(
        self, params: Params, x: jax.Array, weight: jax.Array, key: jax.Array | None
    ) -> tuple[jax.Array, PyTree]:
        draws = {} if key is None else {"dropout": key}
        with _padding_mask(weight):
            outputs, state = self.module.apply(
                _variables(params), x, **self.flags, rngs=draws, mutable=list(params.state)
            )
        return outputs, update_state(weight, params.state, state)


def _variables(params: Params) -> PyTree:
    return {"params": weights_of(params), **(params.state if isinstance(params, Stateful) else {})}


def _padding_mask(weight: jax.Array) -> AbstractContextManager[None]:
    """While this lasts, every batch normalization leaves out rows of weight zero."""
    nn = import_extra("flax.linen", "flax", "this model")

    def tell(
        next_function: Callable[..., PyTree], args: tuple[PyTree, ...], kwargs: Keywords, context: Any
    ) -> PyTree:
        if isinstance(context.module, nn.BatchNorm) and context.method_name == "__call__":
            kwargs = {"mask": real_rows(weight, args[0]), **kwargs}
        return next_function(*args, **kwargs)

    return nn.intercept_methods(tell)
