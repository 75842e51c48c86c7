"""Groups of clients, such as regions or kinds of hospitals.

Every client has one group. It is said by one of

    a mapping      {"anna": "north", "ben": "south"}
    a file         a `.csv` with the columns client and group, or a `.json` with such a mapping
    a column       `column:region`, a feature that has one value in all rows of a client
    a name         `name:-`, what stands before the first `-` of the client's name
    a folder       one sub-folder per group with one file per client, which needs no words

Fairness to groups compares the means over the clients of each group.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..core.spec import Spec
from ..core.text_files import read_text
from ..errors import ConfigError, DataError
from ..typing import Int64s

if TYPE_CHECKING:
    from .federation import Federation

Groups = tuple[str, ...]
"""The group of every client, in the order of clients."""
_HEADER = ("client", "group")


def groups_of(given: str | Path | Mapping[str, object] | Sequence[object], federation: Federation) -> Groups:
    """The group of every client, checked.

    >>> from unalike.data import Federation
    >>> x, y = np.zeros((4, 1)), np.zeros(4, int)
    >>> two = Federation.from_owners(x, y, np.array([0, 0, 1, 1]), names=["anna", "ben"])
    >>> groups_of({"anna": "north", "ben": "south"}, two)
    ('north', 'south')
    """
    if isinstance(given, Mapping):
        return _by_name(given, federation, "the groups")
    if not isinstance(given, str | Path):
        return check_groups(tuple(str(group) for group in given), len(federation))
    spec = Spec.parse(str(given))
    if spec.name in _SOURCES and isinstance(given, str):
        if not spec.arguments:
            raise ConfigError(f"groups = {given!r} needs a word after the colon, such as {spec.name}:region.")
        return _SOURCES[spec.name](str(spec.arguments[0]), federation)
    return _by_name(read_groups(Path(given)), federation, str(given))


def read_groups(path: Path) -> dict[str, str]:
    """The mapping in a file: `.json`, or a `.csv` with the columns client and group."""
    if path.suffix.lower() not in (".csv", ".json"):
        raise ConfigError(
            f"groups = {str(path)!r} must be a .csv or .json file, column:NAME, or name:SEPARATOR."
        )
    text = read_text(path, "groups file", "a line for every client")
    return _from_json(path, text) if path.suffix.lower() == ".json" else _from_csv(path, text)


def check_groups(groups: Groups, clients: int) -> Groups:
    """The same groups, if there is one for each client and each has a name."""
    if len(groups) != clients:
        raise DataError(f"groups need one name per client ({clients}), but there are {len(groups)}.")
    nameless = next((i for i, group in enumerate(groups) if not group.strip()), None)
    if nameless is not None:
        raise DataError(f"client {nameless} has a group without a name.")
    return groups


def group_numbers(groups: Sequence[str]) -> tuple[tuple[str, ...], Int64s]:
    """The names of all groups in order, and the number of every client's group among them.

    >>> names, numbers = group_numbers(["south", "north", "south"])
    >>> names, numbers.tolist()
    (('north', 'south'), [1, 0, 1])
    """
    names, numbers = np.unique(np.array(list(groups), dtype=str), return_inverse=True)
    return tuple(str(name) for name in names), numbers.astype(np.int64)


def _by_name(given: Mapping[str, object], federation: Federation, where: str) -> Groups:
    names = [federation.name(i) for i in range(len(federation))]
    mapping = {str(name): str(group) for name, group in given.items()}
    strangers = [name for name in mapping if name not in set(names)]
    if strangers:
        raise DataError(
            f"{where}: there is no client {strangers[0]!r}; clients are {', '.join(names[:3])}"
            f"{', ...' if len(names) > 3 else ''}."
        )
    missing = [name for name in names if name not in mapping]
    if missing:
        raise DataError(f"{where}: client {missing[0]!r} has no group; every client needs one.")
    return check_groups(tuple(mapping[name] for name in names), len(federation))


def _from_json(path: Path, text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the groups file {path.name} is not JSON ({error}).") from None
    words = isinstance(found, dict) and all(isinstance(group, str | int) for group in found.values())
    if not words:
        raise ConfigError(f'the groups file {path.name} must be of the form {{"client": "group", ...}}.')
    return {name: str(group) for name, group in found.items()}


def _from_csv(path: Path, text: str) -> dict[str, str]:
    lines = [[cell.strip() for cell in line] for line in csv.reader(text.splitlines()) if line]
    header = [cell.lower() for cell in lines[0]]
    if any(name not in header for name in _HEADER):
        raise ConfigError(f"the groups file {path.name} needs a header with the columns client and group.")
    client, group = (header.index(name) for name in _HEADER)
    answer: dict[str, str] = {}
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(header):
            raise ConfigError(f"line {number} of {path.name} has {len(line)} cells, but {len(header)} names.")
        if answer.setdefault(line[client], line[group]) != line[group]:
            raise ConfigError(f"{path.name} gives client {line[client]!r} two groups.")
    return answer


def _by_column(column: str, federation: Federation) -> Groups:
    """The value of a feature that is the same in all of a client's training rows."""
    values = []
    for i in range(len(federation)):
        found = sorted(set(_column_values(column, federation, i)))
        if len(found) != 1:
            raise DataError(
                f"groups: client {federation.name(i)!r} has {len(found)} values of {column}; a column can "
                "tell groups apart only if it has one value in all rows of a client."
            )
        values.append(f"{column} {found[0]}")
    return tuple(values)


def _column_values(column: str, federation: Federation, client: int) -> list[str]:
    """What a column says in every training row of a client, before it was prepared."""
    rows, columns = federation.train.client(client)[0], federation.columns or ()
    prepared = None if federation.preparation is None else federation.preparation.original(column, rows)
    if prepared is not None:
        return prepared
    if column not in columns:
        known = ", ".join(columns) or "none, for they have no names"
        raise DataError(f"groups: there is no column {column!r}; the columns are {known}.")
    return [f"{value:g}" for value in np.unique(rows[:, columns.index(column)])]


def _by_prefix(separator: str, federation: Federation) -> Groups:
    """What stands before the first separator of the client's name."""
    groups = []
    for i in range(len(federation)):
        group, found, _ = federation.name(i).partition(separator)
        if not found or not group:
            raise DataError(f"groups: the name {federation.name(i)!r} has nothing before a {separator!r}.")
        groups.append(group)
    return tuple(groups)


_SOURCES = {"column": _by_column, "name": _by_prefix}
