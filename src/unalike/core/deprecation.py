"""Deprecation of public names: they work for one more version, with a warning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from ..typing import Document, Fields


P = ParamSpec("P")
T = TypeVar("T")


def deprecated(use: str, since: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function or class warn whoever calls it.

    Args:
        use: what to use instead.
        since: the version that deprecates it.

    >>> @deprecated("new_name", since="0.2")
    ... def old_name() -> int:
    ...     return 1
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     old_name(), str(caught[0].message)
    (1, 'old_name is deprecated since 0.2; use new_name.')
    """

    def mark(called: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(called)
        def warned(*given: P.args, **named: P.kwargs) -> T:
            warn_renamed(called.__name__, use, since)
            return called(*given, **named)

        return warned

    return mark


def rename_keys(values: Fields, new_names: Mapping[str, str], since: str) -> Document:
    """Settings in which old names have become new ones, with a warning for each.

    Args:
        values: settings by name.
        new_names: the new name for every old one.
        since: the version that renamed them.

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     rename_keys({"gaps": "drop", "seed": 1}, {"gaps": "missing"}, since="0.2")
    {'missing': 'drop', 'seed': 1}
    """
    for old in values.keys() & new_names.keys():
        warn_renamed(old, new_names[old], since)
    return {new_names.get(name, name): value for name, value in values.items()}


def warn_renamed(old: str, new: str, since: str) -> None:
    """Warn that a name is deprecated."""
    warnings.warn(f"{old} is deprecated since {since}; use {new}.", DeprecationWarning, stacklevel=3)
