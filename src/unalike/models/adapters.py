"""Adapting your model: modules of PyTorch, Flax, Equinox and others become a `Model`.

A name such as "mlp:64", one of :mod:`unalike.models`, a pair of functions `init(key)` and `apply(parameters,
x)`, or a module of PyTorch, Flax or Equinox. None of those libraries is needed unless used.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..core.spec import Spec
from ..errors import ConfigError
from .catalog import model_registry
from .equinox_modules import from_equinox
from .flax_modules import from_flax
from .model import Model
from .module_state import choose_state
from .nnx_modules import from_nnx
from .torch_modules import torch_model_for
from .torch_source import is_module
from .unsupported_modules import check_model, is_nnx, library_of


def as_model(
    thing: Any,
    input_shape: tuple[int, ...] | None,
    outputs: int | None = None,
    state: str = "refuse",
    dtype: DTypeLike = np.float32,
) -> Model:
    """The model that is meant.

    Args:
        thing: A name, a pair of functions, a module or a model.
        input_shape: Of a row, where it is known.
        outputs: How many numbers are predicted for a row, where it is known.
        state: What becomes of running statistics.
        dtype: The type of rows.

    >>> pair = (lambda key: 2.0), (lambda factor, x: factor * x)
    >>> as_model(pair, None).apply(2.0, 21.0)
    42.0
    """
    library = None
    if isinstance(thing, str | Spec):
        name, thing = thing, _make_named_model(thing, input_shape, outputs)
        if is_module(thing):
            thing, library = _builder(name, input_shape=input_shape, outputs=outputs), "torch"
    if isinstance(thing, tuple) and len(thing) == 2 and all(map(callable, thing)):
        return Model(*thing)
    library = library or library_of(thing)
    if library == "torch" and input_shape is not None:
        return torch_model_for(thing, input_shape, dtype, state)
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


def _builder(name: str | Spec, **sizes: object) -> partial[Any]:
    """The function behind a name, with its arguments: every seed builds a module of its own."""
    spec = Spec.of(name)
    make = model_registry[spec]
    wanted = inspect.signature(make).parameters
    return partial(make, *spec.arguments, **{size: value for size, value in sizes.items() if size in wanted})
