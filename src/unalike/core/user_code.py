"""Digests of user code: plugins, modules and functions that are not installed.

Comments and layout do not count. A module stands for all that is in it and in the user's modules that it
imports. The script or notebook that is running changes all the time: of that, only the functions and classes
that are used count.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from pathlib import Path

_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_PACKAGE = __name__.partition(".")[0]
_RUNNING = "__main__"


def is_users(module: str) -> bool:
    """Whether a module is neither ours nor of an installed library.

    >>> is_users("json"), is_users("unalike"), is_users("__main__")
    (False, False, True)
    """
    if module.partition(".")[0] == _PACKAGE or module not in sys.modules:
        return False
    file = getattr(sys.modules[module], "__file__", None)
    return module == _RUNNING or (file is not None and not str(file).startswith(_LIBRARIES))


def is_running(value: object) -> bool:
    """Whether a function or class is of the script or notebook that is running."""
    return getattr(value, "__module__", None) == _RUNNING


def digest_modules(names: Iterable[str]) -> dict[str, str]:
    """Digests of those of the named modules that are the user's, and of the user's modules they import."""
    found: dict[str, str] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found or name == _RUNNING or not is_users(name):
            continue
        found[name] = digest_module(name)
        for item in list(vars(sys.modules[name]).values()):
            inside = item.__name__ if isinstance(item, types.ModuleType) else getattr(item, "__module__", "")
            waiting.append(str(inside or ""))
        waiting += imported_modules(name)
    return dict(sorted(found.items()))


def imported_modules(name: str) -> list[str]:
    """The modules that a module's file imports when it is loaded, also those of which it takes only numbers.

    >>> "hashlib" in imported_modules(__name__)
    True
    """
    tree, package = _syntax(name), getattr(sys.modules.get(name), "__package__", None) or name
    found: list[str] = []
    for node in [] if tree is None else _statements(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found += [base, *(f"{base}.{alias.name}" for alias in node.names)]
    return found


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is loaded: not the insides of functions."""
    for inside in ast.iter_child_nodes(node):
        if not isinstance(inside, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield inside
            yield from _statements(inside)


def _syntax(name: str) -> ast.Module | None:
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None or not Path(file).is_file():
        return None
    try:
        return ast.parse(Path(file).read_bytes())
    except (SyntaxError, ValueError):
        return None


def digest_module(name: str) -> str:
    """The digest of a module's file as it is now; empty if the module was not loaded from one."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None or not Path(file).is_file():
        return ""
    source = Path(file).read_bytes()
    try:
        return _digest(ast.dump(ast.parse(source)))
    except (SyntaxError, ValueError):
        return _digest(source.hex())


def digest_function(function: types.FunctionType) -> str:
    """The digest of a function's compiled code."""
    return _digest("\n".join(_parts(function.__code__)))


def digest_methods(kind: type) -> list[str]:
    """The digests of the functions that a class defines itself."""
    return [digest_function(item) for item in vars(kind).values() if isinstance(item, types.FunctionType)]


def _parts(code: types.CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr(code.co_names)
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            yield from _parts(item)
        else:
            yield repr(item)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
