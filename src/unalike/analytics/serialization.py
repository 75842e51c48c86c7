"""Serialized methods as plain data: a node learns which method to run without receiving code.

A method is a frozen dataclass of numbers, words and other such dataclasses. Those that nodes may be asked to
run are registered here by name; what is sent is a name and plain values, and what cannot be made of them by
the constructor of a registered class is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

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
    if (
        not isinstance(words, Mapping)
        or not isinstance(words.get("class"), str)
        or words["class"] not in _known
    ):
        raise unknown("method", str(words)[:60], sorted(_known))
    cls = _known[words["class"]]
    names = {field.name for field in fields(cls) if field.init}
    given = {name: read_method(value) for name, value in words.items() if name != "class"}
    if set(given) - names:
        raise ConfigError(f"{cls.__name__} has no {sorted(set(given) - names)[0]!r}.")
    hints = get_type_hints(cls)
    for name, value in given.items():
        if not _fits(value, hints[name]):
            raise ConfigError(f"{name} of {cls.__name__} cannot be {str(value)[:40]!r}.")
    try:
        return cls(**given)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{cls.__name__} cannot be made of what was sent ({error}).") from None


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that a field is declared with.

    >>> _fits(1, float), _fits("x", float), _fits((1.0, "x"), tuple[float, ...]), _fits(None, int | None)
    (True, False, False, True)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return any(value is one or (type(value) is type(one) and value == one) for one in inner)
    if origin is tuple:
        each = inner[:1] * len(value) if isinstance(value, tuple) and inner[-1:] == (...,) else inner
        return (
            isinstance(value, tuple)
            and len(value) == len(each)
            and all(_fits(one, kind) for one, kind in zip(value, each, strict=True))
        )
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint in (int, bool, str, NoneType) or is_dataclass(hint):
        return isinstance(value, hint) and not (hint is int and isinstance(value, bool))
    return True
