"""LEAF's JSON files: rows by user.

S. Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018: files
{"users": [...], "user_data": {user: {"x": [...], "y": [...]}}}, several for one data set, made by its own
scripts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...errors import DataError
from .files import reading

_LEAF = 'LEAF\'s {"users": [...], "user_data": {user: {"x": [...], "y": [...]}}}'


def leaf_users(folder: Path) -> dict[str, tuple[list[Any], list[Any]]]:
    """The rows of every user in all JSON files below a folder, training files first."""
    files = sorted(folder.rglob("*.json"), key=lambda path: ("test" in path.parts, str(path)))
    if not files:
        raise DataError(f"{folder.name} has no .json file; it must hold {_LEAF}.")
    users: dict[str, tuple[list[Any], list[Any]]] = {}
    for path in files:
        with reading(path, _LEAF):
            content = json.loads(path.read_text(encoding="utf-8"))
            for name, rows in content["user_data"].items():
                if len(rows["x"]) != len(rows["y"]):
                    raise DataError(f"{path.name}: user {name!r} has {len(rows['x'])} rows but "
                                    f"{len(rows['y'])} labels.")  # fmt: skip
                kept = users.setdefault(str(name), ([], []))
                kept[0].extend(rows["x"])
                kept[1].extend(rows["y"])
    return {name: rows for name, rows in users.items() if rows[1]}
