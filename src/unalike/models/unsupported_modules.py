"""Modules of unsupported libraries: an error that says what to do, without importing them."""

from __future__ import annotations

from ..errors import ConfigError

_LIBRARIES = ("torch", "flax", "equinox", "keras", "tensorflow", "haiku", "sklearn")
_WHAT_TO_DO = {
    "torch": "is a PyTorch module, which needs to know what it reads; write Task.of(federation, module), or "
    "give input_shape=federation.input_shape",
    "flax": "is a Flax module, which needs to know what it reads; write Task.of(federation, module), or give "
    "input_shape=federation.input_shape",
}


def library_of(thing: object) -> str | None:
    """The library that a module, its class or a base of it is from, if it is one that makes models.

    >>> library_of({}) is None
    True
    """
    kind = thing if isinstance(thing, type) else type(thing)
    roots = [base.__module__.partition(".")[0] for base in kind.__mro__]
    return next((root for root in roots if root in _LIBRARIES), None)


def is_nnx(thing: object) -> bool:
    """Whether a module or its class is one of Flax NNX.

    >>> is_nnx("module")
    False
    """
    kind = thing if isinstance(thing, type) else type(thing)
    return any(base.__module__.startswith("flax.nnx") for base in kind.__mro__)


def check_model(model: object) -> None:
    """Raise for what is no model, with what would be one."""
    name = model.__name__ if isinstance(model, type) else type(model).__name__
    library = library_of(model)
    if library == "flax" and isinstance(model, type):
        raise ConfigError(f"{name} is the class of a Flax module; give a module, {name}(...).")
    if library is not None:
        otherwise = f"is a model of {library}, but Unalike computes with JAX; choose one of unalike.models"
        raise ConfigError(f"{name} {_WHAT_TO_DO.get(library, otherwise)}.")
    if not (callable(getattr(model, "init", None)) and callable(getattr(model, "apply", None))):
        raise ConfigError(
            f"{name} is no model; choose one of unalike.models, such as mlp(64, input_shape=..., "
            "outputs=...), or give a pair of functions (init, apply)."
        )


def check_library(thing: object, wanted: str, call: str) -> None:
    """Raise where a module is of another library than the adapter."""
    library = library_of(thing)
    if library not in (None, wanted):
        raise ConfigError(f"{call} takes modules of {wanted}, but this is one of {library}.")
