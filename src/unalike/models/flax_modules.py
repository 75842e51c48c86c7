"""How does a module of Flax (linen) become a model?

Parameters in, predictions out. A module that behaves differently during training has a flag for it in its
`__call__`, such as `train`; then dropout draws from the mini-batch's key, and state changes as the choice of
:mod:`.module_state` says. Mini-batches are padded, so batch normalisation is told which rows are real.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..core.extras import import_extra
from ..errors import ConfigError
from ..typing import Params, PyTree
from .foreign import check_library, is_nnx
from .model import Model
from .module_state import Stateful, check_floats, choose_state, moved_state, real_rows

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
    check_library(module, "flax", "from_flax")
    if is_nnx(module):
        raise ConfigError("from_flax takes modules of flax.linen, but this is one of flax.nnx; use from_nnx.")
    if isinstance(module, type):
        raise ConfigError(f"from_flax takes a module, not its class; give {module.__name__}(...).")
    example = jax.ShapeDtypeStruct((1, *input_shape), dtype)
    quiet, loud = _flags(module)
    variables = jax.eval_shape(lambda key, x: module.init(key, x, **quiet), jax.random.key(0), example)
    kept = sorted(set(variables) - {"params"})

    def start(key: jax.Array) -> PyTree:
        return module.init(key, jnp.zeros(example.shape, dtype), **quiet)

    if not kept:
        noisy = _noisy(module, loud) if loud else None
        return Model(
            lambda key: start(key).get("params", {}),
            lambda params, x: module.apply({"params": params}, x, **quiet),
            apply_noisy=noisy,
        )
    choice = choose_state(state, ", ".join(kept))
    check_floats({name: variables[name] for name in kept})
    if not loud:
        raise ConfigError(
            f"{type(module).__name__} keeps state ({', '.join(kept)}), but its __call__ is not told when it "
            f"is trained; give it an argument such as train=False ({', '.join(_TRAINS)} are known)."
        )

    def init(key: jax.Array) -> Params:
        made = start(key)
        return Stateful(made.get("params", {}), {name: made[name] for name in kept})

    def apply(params: Params, x: jax.Array) -> jax.Array:
        return module.apply({"params": params.weights, **params.state}, x, **quiet)

    return Model(init, apply, apply_training=_training(module, loud), state=choice)


def _flags(module: Any) -> tuple[dict[str, bool], dict[str, bool]]:
    """How the module is told that it predicts, and that it is trained."""
    known = [name for name in inspect.signature(type(module).__call__).parameters if name in _TRAINS]
    return {name: not _TRAINS[name] for name in known}, {name: _TRAINS[name] for name in known}


def _noisy(module: Any, loud: dict[str, bool]) -> Callable[..., jax.Array]:
    def apply_noisy(params: Params, x: jax.Array, key: jax.Array) -> jax.Array:
        return module.apply({"params": params}, x, **loud, rngs={"dropout": key})

    return apply_noisy


def _training(module: Any, loud: dict[str, bool]) -> Callable[..., tuple[jax.Array, PyTree]]:
    nn = import_extra("flax.linen", "flax", "this model")

    def apply_training(
        params: Params, x: jax.Array, weight: jax.Array, key: jax.Array | None
    ) -> tuple[jax.Array, PyTree]:
        def tell(next_function: Any, args: Any, kwargs: Any, context: Any) -> Any:
            if isinstance(context.module, nn.BatchNorm) and context.method_name == "__call__":
                kwargs = {"mask": real_rows(weight, args[0]), **kwargs}
            return next_function(*args, **kwargs)

        with nn.intercept_methods(tell):
            outputs, state = module.apply(
                {"params": params.weights, **params.state},
                x,
                **loud,
                rngs={} if key is None else {"dropout": key},
                mutable=list(params.state),
            )
        return outputs, moved_state(weight, params.state, state)

    return apply_training
