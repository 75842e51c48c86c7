"""How does a module of Flax or Equinox become a model?

Only modules without mutable state are taken: parameters in, predictions out. Neither library is needed
unless used.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..core.extras import import_extra
from ..errors import ConfigError
from ..typing import Params
from .foreign import check_library, library_of
from .task import Model


def from_flax(module: Any, input_shape: tuple[int, ...], dtype: Any = jnp.float32) -> Model:
    """A `flax.linen` module; its variables must be parameters only."""
    check_library(module, "flax", "from_flax")
    if isinstance(module, type):
        raise ConfigError(f"from_flax takes a module, not its class; give {module.__name__}(...).")
    if any(base.__module__.startswith("flax.nnx") for base in type(module).__mro__):
        raise ConfigError("from_flax takes modules of flax.linen, but this is one of flax.nnx.")
    example = jnp.zeros((1, *input_shape), dtype)

    def init(key: jax.Array) -> Params:
        variables = module.init(key, example)
        if set(variables) != {"params"}:
            others = ", ".join(sorted(set(variables) - {"params"}))
            raise ConfigError(
                f"the Flax module keeps state ({others}); only modules with parameters alone can be averaged."
            )
        return variables["params"]

    return Model(init, lambda params, x: module.apply({"params": params}, x))


def from_equinox(make: Any) -> Model:
    """An Equinox module; `make(key)` builds it for one sample, and it is mapped over the batch.

    Its arrays are the parameters; everything else in the module stays as `make` built it.
    """
    check_library(make, "equinox", "from_equinox")
    if library_of(make) == "equinox" and not isinstance(make, type):
        name = type(make).__name__
        raise ConfigError(
            f"from_equinox takes a function that builds the module, not the module; give "
            f"lambda key: {name}(..., key=key)."
        )
    eqx = import_extra("equinox", "equinox", "from_equinox")
    static = eqx.filter_eval_shape(make, jax.random.key(0))
    structure = eqx.partition(static, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))[1]

    def init(key: jax.Array) -> Params:
        arrays = jax.tree.leaves(eqx.filter(make(key), eqx.is_array))
        return {str(index): array for index, array in enumerate(arrays)}

    def apply(params: Params, x: jax.Array) -> jax.Array:
        return jax.vmap(eqx.combine(_fill(static, params), structure))(x)

    return Model(init, apply)


def _fill(template: Any, params: Params) -> Any:
    """The template's array places filled with the parameters, in order."""
    leaves, structure = jax.tree.flatten(template)
    arrays = iter(params[str(index)] for index in range(len(params)))
    return jax.tree.unflatten(
        structure, [next(arrays) if isinstance(leaf, jax.ShapeDtypeStruct) else None for leaf in leaves]
    )
