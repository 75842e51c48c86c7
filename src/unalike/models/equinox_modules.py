"""How does a module of Equinox become a model?

A module holds its arrays, so a module is a start of its own: every run begins where it is. To begin elsewhere
with every seed, give a function of a key that builds it.
"""

from __future__ import annotations

from typing import Any

import jax

from ..core.extras import import_extra
from ..errors import ConfigError
from ..typing import Params
from .foreign import check_library, library_of
from .model import Model


def from_equinox(make: Any) -> Model:
    """An Equinox module for one sample, which is mapped over the batch, or a function `make(key)` that builds
    it.

    Its arrays are the parameters; everything else in the module stays as it was built.
    """
    check_library(make, "equinox", "from_equinox")
    eqx = import_extra("equinox", "equinox", "from_equinox")
    if library_of(make) == "equinox" and not isinstance(make, type):
        module = make
        make = lambda key: module  # noqa: E731
    static = eqx.filter_eval_shape(make, jax.random.key(0))
    if any(isinstance(part, eqx.nn.StateIndex) for part in _parts(eqx, static)):
        raise ConfigError(
            "the Equinox module keeps state, of which padding of mini-batches cannot be left out; use layer "
            "or group normalisation, or batch normalisation of Flax (from_flax, from_nnx)."
        )
    structure = eqx.partition(static, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))[1]

    def init(key: jax.Array) -> Params:
        arrays = jax.tree.leaves(eqx.filter(make(key), eqx.is_array))
        return {str(index): array for index, array in enumerate(arrays)}

    def apply(params: Params, x: jax.Array) -> jax.Array:
        return jax.vmap(eqx.combine(_fill(static, params), structure))(x)

    return Model(init, apply)


def _parts(eqx: Any, module: Any) -> list[Any]:
    return jax.tree.leaves(module, is_leaf=lambda part: isinstance(part, eqx.nn.StateIndex))


def _fill(template: Any, params: Params) -> Any:
    """The template's array places filled with the parameters, in order."""
    leaves, structure = jax.tree.flatten(template)
    arrays = iter(params[str(index)] for index in range(len(params)))
    return jax.tree.unflatten(
        structure, [next(arrays) if isinstance(leaf, jax.ShapeDtypeStruct) else None for leaf in leaves]
    )
