"""Wrappers that forward each member they do not define to the object they wrap (delegation).

A wrapper states only what it changes. Members that are added to the base later are forwarded, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import TypeVar

Wrapper = TypeVar("Wrapper", bound=type)


def public_members(base: type) -> list[str]:
    """The public methods, properties and class variables of a base, without its dataclass fields."""
    settings = {field.name for field in fields(base)} if is_dataclass(base) else set()
    return [name for name in vars(base) if not name.startswith("_") and name not in settings]


def forward_members(base: type, to: str, except_for: Collection[str] = ()) -> Callable[[Wrapper], Wrapper]:
    """Let a wrapper forward the public members of `base` that it does not define.

    Args:
        base: the class whose members are forwarded.
        to: the attribute of a wrapper that holds the wrapped object.
        except_for: members that stay as the base defines them.

    >>> class Animal:
    ...     legs = 4
    ...     def sound(self): return "?"
    >>> class Duck(Animal):
    ...     legs = 2
    ...     def sound(self): return "quack"
    >>> @forward_members(Animal, to="inner")
    ... class Loud(Animal):
    ...     inner = Duck()
    ...     def sound(self): return self.inner.sound().upper()
    >>> Loud().legs, Loud().sound()
    (2, 'QUACK')
    """

    def decorate(wrapper: Wrapper) -> Wrapper:
        for name in public_members(base):
            if name not in vars(wrapper) and name not in except_for:
                setattr(wrapper, name, _forward(name, vars(base)[name], to))
        return wrapper

    return decorate


def _forward(name: str, member: object, to: str) -> object:
    """A method or a property that asks the wrapped object."""
    if not callable(member):
        said = member.__doc__ if isinstance(member, property) else None  # a value's is that of its type
        return property(lambda self: getattr(getattr(self, to), name), doc=said)

    @wraps(member)
    def method(self: object, *args: object, **kwargs: object) -> object:
        return getattr(getattr(self, to), name)(*args, **kwargs)

    return method
