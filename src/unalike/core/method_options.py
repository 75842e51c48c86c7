"""What does `--set` take for each method?  (Read from the source text, without importing it.)

A method is a dataclass whose fields, its own and those of its bases, are its settings; fields that hold no
plain value have options of their own on the command line, or only Python can give them.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from .catalogue import KINDS, explain, registered_nodes, source_files

PLAIN = frozenset({"int", "float", "str", "bool", "None"})
FILLED_IN = ("clients", "rows", "first_clusters", "initial_loss", "similarity")
"""What a method learns from the federation."""
Options = dict[str, str]


class Written(NamedTuple):
    """A class or function of the source text."""

    bases: tuple[str, ...]
    options: Options


def method_options() -> dict[str, Options]:
    """By method: its settings and what they are when not set ("" for none).

    >>> method_options()["fedprox"]
    {'mu': '0.1'}
    """
    made = sys.modules.get("unalike.algorithms.base")
    makers = {} if made is None else {name: made.algorithm_registry[name] for name in made.algorithm_registry}
    written = _written()
    return {name: written[name] if name in written else _live(makers[name]) for name in explain("algorithms")}


def option_words(options: Mapping[str, str]) -> str:
    """Settings as a person types them.

    >>> option_words({"mu": "0.1", "rate": ""})
    'mu=0.1 rate'
    """
    return " ".join(f"{name}={value}" if value else name for name, value in options.items())


@cache
def _written() -> dict[str, Options]:
    where = KINDS["algorithms"]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in source_files(where.rooms)]
    known = {
        node.name: _read(node)
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    names = {name: node.name for tree in trees for name, node in registered_nodes(tree, where.registry)}
    return {name: _inherited(known, node) for name, node in names.items()}


def _inherited(known: Mapping[str, Written], name: str) -> Options:
    """The bases' settings, the last base's first as dataclasses have them, then its own."""
    if name not in known:
        return {}
    found: Options = {}
    for base in reversed(known[name].bases):
        found |= _inherited(known, base)
    return found | known[name].options


def _read(node: ast.ClassDef | ast.FunctionDef) -> Written:
    if isinstance(node, ast.ClassDef):
        bases = tuple(base.id for base in node.bases if isinstance(base, ast.Name))
        return Written(
            bases, {name: _value(value) for name, kind, value in _fields(node) if _plain(name, kind)}
        )
    arguments = (*node.args.args, *node.args.kwonlyargs)
    values = dict(zip((a.arg for a in reversed(node.args.args)), reversed(node.args.defaults), strict=False))
    values |= {
        a.arg: v for a, v in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if v is not None
    }
    return Written((), {a.arg: _value(values.get(a.arg)) for a in arguments if _plain(a.arg, a.annotation)})


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr, ast.expr | None]]:
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            yield line.target.id, line.annotation, line.value


def _plain(name: str, kind: ast.expr | None) -> bool:
    words = ast.unparse(kind).split(" | ") if kind is not None else []
    return bool(words) and name not in FILLED_IN and PLAIN.issuperset(words)


def _value(value: ast.expr | None) -> str:
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return ""
    return _typed(value.value) if isinstance(value, ast.Constant) else ast.unparse(value)


def _typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _live(maker: Any) -> Options:
    """The settings of a method that a user's own module has registered."""
    return {
        p.name: "" if p.default in (None, p.empty) else _typed(p.default)
        for p in inspect.signature(maker).parameters.values()
        if isinstance(p.default, int | float | str | bool | None) and p.name not in FILLED_IN
    }
