"""The package of studies, found by its entry point.

Studies are installed beside this package, as `unalike-studies`. Its entry point, or in a checkout that is
only on the path its name, says where it is; its names are read from a table in it, without importing it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ..errors import ConfigError

if TYPE_CHECKING:
    from ..typing import Document

GROUP = "unalike.studies"
PACKAGE = "unalike_studies"
STUDIES = "studies"
"""The word after `unalike list`."""
NAMES = "names.json"
HOW = (
    "studies of published claims are a package of their own, which is not installed; install it with pip "
    "install unalike-studies, or with pip install ./studies in a checkout."
)


def find_studies() -> Path | None:
    """The folder of the package of studies; None where it is not installed."""
    offered = [entry.module for entry in importlib.metadata.entry_points(group=GROUP)]
    for name in (*offered, PACKAGE):
        found = importlib.util.find_spec(name)
        if found is not None and found.origin is not None:
            return Path(found.origin).parent
    return None


def import_studies(module: str) -> ModuleType:
    """A module of the package of studies, or an error that says how to install it."""
    return importlib.import_module(f"{_find_package().name}.{module}")


def study_names() -> Document:
    """Each study with its object and its explanation; empty where none are installed."""
    folder = find_studies()
    return {} if folder is None else _read(folder / NAMES)


def check_studies() -> None:
    """Raise where no studies are installed."""
    _find_package()


def _find_package() -> Path:
    folder = find_studies()
    if folder is None:
        raise ConfigError(HOW)
    return folder


@cache
def _read(file: Path) -> Document:
    names: Document = json.loads(file.read_text(encoding="utf-8"))[STUDIES]["names"]
    return names
