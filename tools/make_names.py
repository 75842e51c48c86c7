"""Which names can be typed?  (Writes the tables that the packages read: `python tools/make_names.py`.)

The source text is parsed, not imported: registries that are listed (`Registry("algorithm", "algorithms")`),
the decorators `@registry.add("name")`, the docstrings below them, and the settings of methods. A test makes
the tables again and compares.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from unalike.core.names import FILLED_IN, first_sentence, format_value  # noqa: E402

TABLES = {
    ROOT / "src" / "unalike": ROOT / "src" / "unalike" / "core" / "names.json",
    ROOT / "studies" / "src" / "unalike_studies": ROOT / "studies" / "src" / "unalike_studies" / "names.json",
}
"""By package: the table of its names."""
ORDER = (
    *(
        "data",
        "partitions",
        "sizes",
        "skews",
        "watermarks",
        "arrivals",
        "memories",
        "stream-weights",
        "drifts",
    ),
    *(
        "drift-detectors",
        "changes",
        "models",
        "metrics",
        "algorithms",
        "aggregators",
        "behaviors",
        "monitors",
    ),
    *("samplers", "availabilities", "participation", "timings", "hardware", "staleness", "networks"),
    *(
        "underlays",
        "workloads",
        "graphs",
        "mixings",
        "schedules",
        "trackers",
        "engines",
        "tables",
        "analyses",
    ),
    *("benchmarks", "defenses", "studies"),
)
"""How `unalike list` shows kinds; one that is not here comes last."""
WITH_OPTIONS = "algorithms"
PLAIN = frozenset({"int", "float", "str", "bool", "None"})
Table = dict[str, dict[str, Any]]


class Module(NamedTuple):
    """A file's dotted name and what is written in it."""

    name: str
    tree: ast.Module


class Kind(NamedTuple):
    """A registry that is listed."""

    listed: str
    word: str
    variable: str
    module: str


class Written(NamedTuple):
    """A class or function of the source text."""

    bases: tuple[str, ...]
    options: dict[str, str]


def make_table(package: Path) -> Table:
    """By kind: what one is called, its registry, and every name with its object and explanation."""
    modules = list(read_modules(package))
    kinds = {kind.listed: kind for module in modules for kind in listed_registries(module)}
    options = method_options(modules) if WITH_OPTIONS in kinds else {}
    table = {}
    for listed in sorted(kinds, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name)):
        names = dict(registered_names(modules, kinds[listed]))
        if listed == WITH_OPTIONS:
            names = {name: {**entry, "options": options[name]} for name, entry in names.items()}
        kind = kinds[listed]
        table[listed] = {"word": kind.word, "registry": f"{kind.module}:{kind.variable}", "names": names}
    return table


def as_text(table: Table) -> str:
    """The file's content."""
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


def read_modules(package: Path) -> Iterator[Module]:
    """Every file of a package, in order."""
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        yield Module(name, ast.parse(path.read_text(encoding="utf-8")))


def listed_registries(module: Module) -> Iterator[Kind]:
    """The registries of a module that `unalike list` shows."""
    for node in module.tree.body:
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=variable),
                value=ast.Call(
                    func=ast.Name(id="Registry" | "ModelRegistry"),
                    args=[ast.Constant(value=str(word)), ast.Constant(value=str(listed))],
                ),
            ):
                yield Kind(listed, word, variable, module.name)


def registered_names(modules: list[Module], kind: Kind) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each name of a kind; those of the registry's own room come first."""
    room = kind.module.split(".")[1]
    for module in sorted(modules, key=lambda module: module.name.split(".")[1:2] != [room]):
        for name, node in registered_nodes(module.tree, kind.variable):
            about = first_sentence(ast.get_docstring(node))
            yield name, {"object": f"{module.name}:{node.name}", "about": about}


def registered_nodes(tree: ast.Module, registry: str) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    """The names under which a module's functions and classes are registered, and those."""
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        for decorator in node.decorator_list:
            match decorator:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id=owner), attr="add"),
                    args=[ast.Constant(value=str(name))],
                ) if owner == registry:
                    yield name, node


# What `--set` takes --------------------------------------------------------------------------------------


def method_options(modules: list[Module]) -> dict[str, dict[str, str]]:
    """By method: its settings and what they are when not set.

    A method is a dataclass whose fields, its own and those of its bases, are its settings; fields that hold
    no plain value have options of their own on the command line, or only Python can give them.
    """
    # A method may live elsewhere; of two classes of one name, that of the methods' own room counts.
    trees = [
        module.tree
        for module in sorted(modules, key=lambda module: module.name.split(".")[1:2] == [WITH_OPTIONS])
    ]
    known = {
        node.name: _read(node)
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    registered = [pair for tree in trees for pair in registered_nodes(tree, "algorithm_registry")]
    return {name: _inherited(known, node.name) for name, node in registered}


def _inherited(known: Mapping[str, Written], name: str) -> dict[str, str]:
    """The bases' settings, the last base's first as dataclasses have them, then its own."""
    if name not in known:
        return {}
    options: dict[str, str] = {}
    for base in reversed(known[name].bases):
        options |= _inherited(known, base)
    return options | known[name].options


def _read(node: ast.ClassDef | ast.FunctionDef) -> Written:
    if isinstance(node, ast.ClassDef):
        bases = tuple(base.id for base in node.bases if isinstance(base, ast.Name))
        return Written(
            bases, {name: _value(value) for name, kind, value in _fields(node) if _is_plain(name, kind)}
        )
    arguments = (*node.args.args, *node.args.kwonlyargs)
    values = dict(zip((a.arg for a in reversed(node.args.args)), reversed(node.args.defaults), strict=False))
    values |= {
        a.arg: v for a, v in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if v is not None
    }
    return Written(
        (), {a.arg: _value(values.get(a.arg)) for a in arguments if _is_plain(a.arg, a.annotation)}
    )


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr, ast.expr | None]]:
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            yield line.target.id, line.annotation, line.value


def _is_plain(name: str, kind: ast.expr | None) -> bool:
    types = ast.unparse(kind).split(" | ") if kind is not None else []
    return bool(types) and name not in FILLED_IN and PLAIN.issuperset(types)


def _value(value: ast.expr | None) -> str:
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return ""
    return format_value(value.value) if isinstance(value, ast.Constant) else ast.unparse(value)


if __name__ == "__main__":
    for package, file in TABLES.items():
        file.write_text(as_text(make_table(package)), encoding="utf-8")
