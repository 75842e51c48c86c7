"""Options of each method (`--set`), read from the table of names without importing methods."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping

from .catalog import KINDS, explain
from .names import FILLED_IN, format_value, names_of_kind

Options = dict[str, str]


def method_options() -> dict[str, Options]:
    """By method: its settings and what they are when not set ("" for none).

    >>> method_options()["fedprox"]
    {'mu': '0.1'}
    """
    listed, where = names_of_kind("algorithms"), KINDS["algorithms"]
    made = sys.modules.get(where.home)
    return {
        name: dict(listed[name].options)
        if name in listed
        else _live(getattr(made, where.registry)[name])  # only a module that is imported adds names
        for name in explain("algorithms")
    }


def option_words(options: Mapping[str, str]) -> str:
    """Settings as a person types them.

    >>> option_words({"mu": "0.1", "rate": ""})
    'mu=0.1 rate'
    """
    return " ".join(f"{name}={value}" if value else name for name, value in options.items())


def _live(maker: Callable[..., object]) -> Options:
    """The settings of a method that a user's own module has registered."""
    return {
        p.name: "" if p.default is None else format_value(p.default)
        for p in inspect.signature(maker).parameters.values()
        if isinstance(p.default, int | float | str | bool | None) and p.name not in FILLED_IN
    }
