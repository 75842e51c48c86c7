"""Equinox modules as models.

A module holds its arrays, so a module is a start of its own: every run begins where it is. To begin elsewhere
with every seed, give a function of a key that builds it. A module that keeps state is called with it
and gives it back (:mod:`.equinox_state`); in training it is as it was built, for predictions in its inference
mode.
"""

from __future__ import annotations

from typing import Any

import jax

from ..core.extras import import_extra
from ..typing import Params, PyTree
from .equinox_state import StatefulModule, arrays_of, fill, keeps_state
from .model import Model
from .module_state import choose_state
from .unsupported_modules import check_library, library_of


def from_equinox(make: Any, state: str = "refuse") -> Model:
    """An Equinox module for one sample, which is mapped over the batch, or a function `make(key)` that builds
    it; `state` says what becomes of running statistics.

    Its arrays are the parameters; everything else in the module stays as it was built. What
    `equinox.nn.make_with_state` makes is a pair, a module and its state, and may be given as it is.
    """
    first = make[0] if isinstance(make, tuple) else make
    check_library(first, "equinox", "from_equinox")
    eqx = import_extra("equinox", "equinox", "from_equinox")
    is_made = library_of(first) == "equinox" and not isinstance(first, type)
    build = (lambda key: make) if is_made else make
    static = eqx.filter_eval_shape(build, jax.random.key(0))
    if keeps_state(eqx, static):
        choice = choose_state(state, "eqx.nn.State")
        kept = StatefulModule.of(eqx, build)
        return Model(kept.init, kept.apply, apply_training=kept.apply_training, state=choice)
    return Model(
        lambda key: arrays_of(eqx, build(key)),
        lambda params, x: _map_rows(static, params, x),
    )


def _map_rows(static: PyTree, params: Params, x: jax.Array) -> jax.Array:
    return jax.vmap(fill(static, params))(x)
