"""Adapting your model: modules of Flax, Equinox and others become a `Model`.

A name such as "mlp:64", one of :mod:`unalike.models`, a pair of functions `init(key)` and `apply(parameters,
x)`, or a module of Flax or Equinox. None of those libraries is needed unless used.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..core.spec import Spec
from ..errors import ConfigError
from .catalog import model_registry
from .equinox_modules import from_equinox
from .flax_modules import from_flax
from .model import Model
from .module_state import choose_state
from .nnx_modules import from_nnx
from .unsupported_modules import check_model, is_nnx, library_of


def as_model(
    thing: Any, input_shape: tuple[int, ...] | None, outputs: int | None = None, state: str = "refuse"
) -> Model:
    """The model that is meant.

    >>> pair = (lambda key: 2.0), (lambda factor, x: factor * x)
    >>> as_model(pair, None).apply(2.0, 21.0)
    42.0
    """
    if isinstance(thing, str | Spec):
        thing = _make_named_model(thing, input_shape, outputs)
    if isinstance(thing, tuple) and len(thing) == 2 and all(map(callable, thing)):
        return Model(*thing)
    library = library_of(thing)
    if library == "flax" and is_nnx(thing):
        return from_nnx(thing, state)
    if library == "flax" and not isinstance(thing, type) and input_shape is not None:
        return from_flax(thing, input_shape, state=state)
    if library == "equinox" or _is_parted(thing):
        return from_equinox(thing, state)
    check_model(thing)
    return with_choice(thing, state)


def _is_parted(thing: object) -> bool:
    """Whether it is a module of Equinox and its state."""
    return isinstance(thing, tuple) and len(thing) == 2 and library_of(thing[0]) == "equinox"


def with_choice(model: Model, state: str) -> Model:
    """The model, with the choice of what becomes of its state where it has one and nobody has chosen."""
    if getattr(model, "state", None) != "refuse":
        return model
    return replace(model, state=choose_state(state, "running statistics"))


def _make_named_model(name: str | Spec, input_shape: tuple[int, ...] | None, outputs: int | None) -> Model:
    if input_shape is None or outputs is None:
        raise ConfigError(
            f"model {str(name)!r} needs to know the clients; write Task.of(federation, '{name}')."
        )
    return model_registry.make(name, input_shape=input_shape, outputs=outputs)
