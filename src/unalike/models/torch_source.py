"""Where a PyTorch module comes from, for a fresh one of its own."""

from __future__ import annotations

import copy
from typing import Any

from ..errors import ConfigError
from .torch_export import import_torch
from .unsupported_modules import library_of


class Source:
    """A module, which stays in this process, or a function that builds one, which goes along to workers."""

    def __init__(self, make: Any) -> None:
        self._make = make

    def __reduce__(self) -> tuple[Any, ...]:
        return Source, (self._make if self.builds else None,)

    @property
    def builds(self) -> bool:
        """Whether it is a function."""
        return self._make is not None and not is_module(self._make)

    def module(self, seed: int = 0) -> Any:
        """A module of its own, as it was given or as it is built with a seed."""
        if self._make is None:
            raise ConfigError("the module is not known in this process; give one to load the weights into.")
        if not self.builds:
            return copy.deepcopy(self._make)
        torch = import_torch()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            made = _call(self._make)
        if not is_module(made):
            raise ConfigError(
                f"from_torch was given a function that builds a {type(made).__name__}, not a module."
            )
        return made


def is_module(thing: object) -> bool:
    """Whether it is a module of PyTorch, not its class.

    >>> is_module("module")
    False
    """
    return library_of(thing) == "torch" and not isinstance(thing, type)


def _call(make: Any) -> Any:
    if not isinstance(make, type):
        return make()
    try:
        return make()
    except TypeError as error:
        raise ConfigError(
            f"{make.__name__} cannot be built without arguments ({error}); give a module, "
            f"{make.__name__}(...), or from_torch(lambda: {make.__name__}(...), example)."
        ) from error
