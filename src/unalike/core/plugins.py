"""Plugins: names that come from a user's own file.

A plugin is a Python module that registers what it has under names (`@algorithm_registry.add("mine")`). It is
code, so it is loaded only when the person at this machine says so: by `--plugin FILE`, by the environment
variable UNALIKE_PLUGINS, which processes that are started from here inherit, or by installing a package with
an entry point of the group `unalike.plugins`. An experiment's file can use the names, but never load a file.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from ..errors import ConfigError

VARIABLE = "UNALIKE_PLUGINS"
GROUP = "unalike.plugins"
_loaded: dict[Path, ModuleType] = {}


def load_plugin(path: str | Path) -> ModuleType:
    """Run a user's own file once, and remember it for processes that are started from here."""
    file = Path(path).resolve()
    if file in _loaded:
        return _loaded[file]
    if file.suffix != ".py" or not file.is_file():
        raise ConfigError(f"the plugin {str(path)!r} is not a Python file; give the path of a .py file.")
    if file.stem in sys.modules or importlib.util.find_spec(file.stem) is not None:
        raise ConfigError(f"the plugin {str(path)!r} has the name of another module; call it differently.")
    module = _run(file)
    _loaded[file] = module
    os.environ[VARIABLE] = os.pathsep.join(str(known) for known in _loaded)
    return module


def load_inherited() -> None:
    """Load what UNALIKE_PLUGINS names and what installed packages offer."""
    for path in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        load_plugin(path)
    for entry in importlib.metadata.entry_points(group=GROUP):
        try:
            entry.load()
        except Exception as error:  # somebody else's package must not keep all others from working
            warnings.warn(f"the plugin {entry.name} cannot be loaded: {error}.", stacklevel=2)


def loaded_plugins() -> list[ModuleType]:
    """The modules of files that were loaded, which other machines do not have."""
    return list(_loaded.values())


def take_plugins(words: list[str]) -> list[str]:
    """Load the files after `--plugin` in a command line, and give back what is left of it.

    >>> take_plugins(["run", "--rounds", "3"])
    ['run', '--rounds', '3']
    """
    left: list[str] = []
    given = iter(words)
    for word in given:
        name, equals, value = word.partition("=")
        if name != "--plugin":
            left.append(word)
        else:
            load_plugin(value if equals else _after(given))
    return left


def _after(words: Iterator[str]) -> str:
    path = next(words, None)
    if path is None:
        raise ConfigError("--plugin needs the path of a .py file.")
    return path


def _run(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[file.stem]
        said = f"{type(error).__name__}: {error}"
        raise ConfigError(f"the plugin {file.name} fails in line {_line(error, file)}: {said}.") from error
    return module


def _line(error: Exception, file: Path) -> int | str:
    """The line of a file in which something failed."""
    frames = traceback.extract_tb(error.__traceback__)
    mine = [frame.lineno for frame in frames if frame.filename == str(file)]
    return (mine[-1] if mine else getattr(error, "lineno", None)) or "?"
