"""Plain descriptions of objects, to compare settings later.

A description is made of JSON's own types. Two objects that were made in the same way have the same
description, in another process and on another day: nothing in it is an address, and numbers are compared with
a tolerance, so that another machine's rounding is no difference.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass

import numpy as np

from ..typing import Array, Json, Leaf
from .user_code import digest_function, digest_methods, is_running

SHORT = 256
"""Numbers in an array that is described by its values; a longer one is by its shape and two sums."""
LOOKED_AT = 1_000_000
"""Numbers of a long array that the sums are over, evenly spaced."""
DEEPEST = 12
TOLERANCE = 1e-4
"""Relative difference of two numbers that is none."""
EMPTY: tuple[Json, ...] = (None, "", [], {})
"""Values of settings that are not used."""


def describe(value: object) -> Json:
    """The settings of an object: a dataclass's fields, another object's public attributes.

    >>> from functools import partial
    >>> describe({"rate": 0.1, "by": partial(round, ndigits=2)})
    {'rate': 0.1, 'by': ['builtins.round', [], {'ndigits': 2}]}
    """
    return _describe(value, 0, set())


def difference(before: Json, now: Json, path: str = "") -> tuple[str, Json, Json] | None:
    """The first place where two descriptions differ: its name, and what is there in each. A setting that only
    one of them has is no difference while it is empty: a later version may have brought it.

    >>> difference({"optimizer": {"rate": 0.1}}, {"optimizer": {"rate": 5.0}})
    ('optimizer.rate', 0.1, 5.0)
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for name in dict.fromkeys([*before, *now]):
            place = f"{path}.{name}" if path else str(name)
            if name not in before or name not in now:
                only = before.get(name, now.get(name))
                if only in EMPTY:  # a setting that another version has, and that is not used
                    continue
                return place, before.get(name), now.get(name)
            if found := difference(before[name], now[name], place):
                return found
        return None
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return next(filter(None, (difference(a, b, path) for a, b in zip(before, now, strict=True))), None)
    return None if _same(before, now) else (path, before, now)


def names_in(described: Json) -> Iterator[str]:
    """All strings of a description, among them the modules that its classes and functions come from."""
    if isinstance(described, str):
        parts = described.split(".")
        yield from (".".join(parts[:end]) for end in range(1, len(parts)))
    elif isinstance(described, Mapping | list):
        inside = described.values() if isinstance(described, Mapping) else described
        for item in inside:
            yield from names_in(item)


def _describe(value: object, depth: int, above: set[int]) -> Json:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return _array(value)
    if id(value) in above or depth > DEEPEST:
        return _name(value)
    return _compose(value, functools.partial(_describe, depth=depth + 1, above=above | {id(value)}))


def _compose(value: object, inner: Callable[[object], Json]) -> Json:
    if isinstance(value, Mapping):
        return {str(key): inner(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [inner(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((inner(item) for item in value), key=str)
    if isinstance(value, functools.partial):
        return [inner(value.func), inner(value.args), inner(value.keywords)]
    if isinstance(value, types.MethodType):
        return [inner(value.__self__), value.__name__]
    value = inspect.unwrap(value) if callable(value) else value
    if isinstance(value, types.FunctionType):
        return _function(value, inner)
    if isinstance(value, types.BuiltinFunctionType):
        return _name(value)
    if isinstance(value, type):
        return [_name(value), *digest_methods(value)] if is_running(value) else _name(value)
    code = {"code": digest_methods(type(value))} if is_running(type(value)) else {}
    return {
        "is": _name(type(value)),
        **{name: inner(getattr(value, name, None)) for name in _settings(value)},
        **code,
    }


def _settings(value: object) -> list[str]:
    if is_dataclass(value):
        return [field.name for field in fields(value) if field.init and not field.name.startswith("_")]
    return sorted(name for name in getattr(value, "__dict__", {}) if not name.startswith("_"))


def _function(value: types.FunctionType, inner: Callable[[object], Json]) -> Json:
    """Its name, what it was made with, and its code where nothing else says what that is."""
    given = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
    code = [digest_function(value)] if is_running(value) else []
    return [_name(value), *code, *([inner(given)] if given else [])] if code or given else _name(value)


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 (of an empty cell, this raises)
    except ValueError:
        return False
    return True


def _array(value: Leaf) -> Json:
    shape = [str(value.dtype), list(value.shape)]
    if str(value.dtype).startswith("key"):
        return shape
    numbers = np.asarray(value).ravel()
    return [*shape, numbers.tolist() if len(numbers) <= SHORT else _sums(numbers)]


def _sums(numbers: Array) -> list[float] | None:
    """Sums of what is above and of what is below zero, with weights by place: they differ where the numbers
    or their order do, and hardly by rounding; none for what is no number."""
    try:
        some = numbers[:: -(-len(numbers) // LOOKED_AT)].astype(np.float64)
    except (TypeError, ValueError):
        return None
    weights = 1 + np.modf(np.arange(len(some)) * 0.6180339887498949)[0]
    some = np.nan_to_num(some)
    return [float(weights @ np.maximum(some, 0)), float(weights @ np.maximum(-some, 0))]


def _same(before: Json, now: Json) -> bool:
    if isinstance(before, float) and isinstance(now, int | float):
        close = abs(before - now) <= TOLERANCE * max(abs(before), abs(now))
        return close or before == now or (before != before and now != now)
    return bool(before == now)


def _name(value: object) -> str:
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{getattr(named, '__module__', '')}.{named.__qualname__}"
