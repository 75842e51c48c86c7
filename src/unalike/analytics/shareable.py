"""How does a node learn which method it is to run, without being sent code?  (Methods as plain words.)

A method is a frozen dataclass of numbers, words and other such dataclasses. Those that nodes may be asked to
run are registered here by name; what is sent is a name and plain values, and what cannot be made of them by
the constructor of a registered class is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from ..algorithms import LocalWork, Optimizer
from ..errors import ConfigError, unknown

Shared = TypeVar("Shared", bound=type)
_known: dict[str, type] = {"LocalWork": LocalWork, "Optimizer": Optimizer}
_PLAIN = (bool, int, float, str, type(None))


def shareable(cls: Shared) -> Shared:
    """Let nodes be asked to run this class."""
    _known[cls.__name__] = cls
    return cls


def write_method(method: Any) -> Any:
    """A method as plain words."""
    if isinstance(method, _PLAIN):
        return method
    if isinstance(method, tuple | list):
        return [write_method(value) for value in method]
    name = type(method).__name__
    if not is_dataclass(method) or name not in _known:
        raise ConfigError(f"a {name} cannot be described to nodes.")
    given = {field.name: write_method(getattr(method, field.name)) for field in fields(method) if field.init}
    return {"class": name, **given}


def read_method(words: Any) -> Any:
    """The method of such words, by somebody who need not be honest."""
    if isinstance(words, _PLAIN):
        return words
    if isinstance(words, list):
        return tuple(read_method(value) for value in words)
    if not isinstance(words, Mapping) or words.get("class") not in _known:
        raise unknown("method", str(words)[:60], sorted(_known))
    cls = _known[words["class"]]
    names = {field.name for field in fields(cls) if field.init}
    given = {name: read_method(value) for name, value in words.items() if name != "class"}
    if set(given) - names:
        raise ConfigError(f"{cls.__name__} has no {sorted(set(given) - names)[0]!r}.")
    try:
        return cls(**given)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{cls.__name__} cannot be made of what was sent ({error}).") from None
