"""Built-in models by name; equal arguments give the same model.

Two models are equal if they are made of the same functions. So a model that is asked for again is the one
that was made before, and every program that was compiled for it is used again: by the next run of a
comparison, and by a cell of a notebook that is run twice.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TypeVar, cast

from ..core.registry import Registry
from .model import Model

Maker = TypeVar("Maker", bound=Callable[..., Model])
KEPT = 256
"""Models of each name that are kept; they hold functions, no parameters."""


class ModelRegistry(Registry[Model]):
    """Makers of models by name; each gives the same model for equal arguments."""

    def add(self, name: str) -> Callable[[Maker], Maker]:
        """Register a maker under `name`; its docstring's first line is the explanation."""
        register = super().add(name)
        return lambda maker: register(_reuse_equal(maker))


def _reuse_equal(make: Maker) -> Maker:
    """The same maker, which remembers the models that it made; modules of other libraries are made anew."""
    known: dict[Hashable, Model] = {}

    @wraps(make)
    def made(*given: object, **named: object) -> Model:
        values = (*given, *named.values())
        if not all(isinstance(value, Hashable) for value in values):
            return make(*given, **named)
        key = (given, tuple(sorted(named.items())), tuple(map(type, values)))
        if key in known:
            return known[key]
        model = make(*given, **named)
        if isinstance(model, Model) and len(known) < KEPT:
            known[key] = model
        return model

    return cast("Maker", made)


model_registry: Registry[Model] = ModelRegistry("model", "models")
