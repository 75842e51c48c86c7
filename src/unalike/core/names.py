"""The generated table of everything that can be named, and where it is defined.

Most makers need JAX, which takes most of a second to import; a list of names or a refusal of a misspelt one
need not wait for it. So names, their objects and explanations are in a table, `names.json`, which
`python tools/make_names.py` writes from the source text; a test makes it again and compares. Studies have a
table of their own in their own package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .studies import PACKAGE, STUDIES, study_names

if TYPE_CHECKING:
    from ..typing import Document, Fields

FILE = Path(__file__).with_name("names.json")
FILLED_IN = ("clients", "rows", "first_clusters", "initial_loss", "similarity")
"""What a method learns from the federation, and no table lists."""
NO_OPTIONS: Mapping[str, str] = {}


class NameEntry(NamedTuple):
    """What one name stands for."""

    module: str
    attribute: str
    about: str
    options: Mapping[str, str]
    """Of a method: what `--set` takes, and what each is when not set ("" for none)."""


class Kind(NamedTuple):
    """Where names of one kind are registered."""

    word: str
    """What one of them is called."""
    home: str
    """The module of the registry."""
    registry: str


def kinds() -> dict[str, Kind]:
    """Every kind, by the word after `unalike list`; studies are one of them also where none are installed."""
    own = {listed: Kind(kind["word"], *kind["registry"].split(":")) for listed, kind in _table().items()}
    return {**own, STUDIES: Kind("study", f"{PACKAGE}.study", "study_registry")}


def names_of_kind(kind: str) -> dict[str, NameEntry]:
    """The names of a kind that these packages have; none for a kind that is not listed."""
    return _studies() if kind == STUDIES else _own(kind)


@cache
def _own(kind: str) -> dict[str, NameEntry]:
    return _read(_table()[kind]["names"]) if kind in _table() else {}


def _studies() -> dict[str, NameEntry]:
    return _read(study_names())


def _read(names: Fields) -> dict[str, NameEntry]:
    return {name: _entry(**entry) for name, entry in names.items()}


def _entry(object: str, about: str, options: Mapping[str, str] = NO_OPTIONS) -> NameEntry:
    module, attribute = object.split(":")
    return NameEntry(module, attribute, about, options)


@cache
def _table() -> Document:
    table: Document = json.loads(FILE.read_text(encoding="utf-8"))
    return table


def first_sentence(docstring: str | None) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((docstring or "").partition("\n\n")[0].split())


def format_value(value: object) -> str:
    """A plain value as a person types it.

    >>> format_value(True), format_value(0.5)
    ('true', '0.5')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)
