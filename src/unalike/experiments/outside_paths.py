"""Paths, queries and trackers in experiment files from others: what may they open?

A file may name data sets, and files below its own folder. Anything else, a query for rows, and the file or
folder of a tracker count only if the person at this machine says so: by an option on the command line, or by
`--trust-file`. What a run folder names counts if the folder is sealed with the user's own key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.catalog import SQL, explain, separate
from ..core.spec import Spec
from ..errors import ConfigError, RunError

if TYPE_CHECKING:
    from ..runs import RunFolder
    from ..typing import Config

PATHS = (
    *("data", "prepare", "importance", "groups", "stream", "stream_weights", "availability", "hardware"),
    *("underlay", "network", "track"),
)
"""Settings that may name a file."""
OPENED_FIRST = tuple(name for name in PATHS if name not in ("data", "prepare", "track"))
"""Those of which some are opened even where no rows are read and nothing is trained."""
_WRITERS = ("jsonl", "tensorboard")
"""Trackers whose argument is where they write."""
_KINDS = {"data": "data", "underlay": "underlays", "network": "networks"}


def outside_settings(values: Config, folder: Path, names: Iterable[str] = PATHS) -> dict[str, str]:
    """Settings that lead out of a folder, and how.

    Args:
        values: The settings of an experiment, by name.
        folder: The folder of the file that has them.
        names: Which of them to look at.

    >>> outside_settings({"data": "digits", "track": "jsonl:/etc/motd"}, Path("."))
    {'track': 'a place to write'}
    """
    given = {name: values[name] for name in names if isinstance(values.get(name), str)}
    found = {name: _leads_out(name, text, folder.resolve()) for name, text in given.items()}
    return {name: how for name, how in found.items() if how is not None}


def check_file(path: Path, values: Config) -> None:
    """Raise if a setting of an experiment's file leads out of the file's folder."""
    for name, how in outside_settings(values, path.parent).items():
        raise ConfigError(
            f"{path} says {name} = {_short(values[name])}, which is {how}; files may be somebody else's, so "
            f"give it as --{name.replace('_', '-')} on the command line, or, if you trust all of the file, "
            "add --trust-file."
        )


def check_received(folder: RunFolder, names: Iterable[str] = PATHS) -> None:
    """Raise if a folder that another key has sealed leads to something outside itself."""
    if not folder.is_own:
        check_received_settings(folder.path, folder.config, names)


def check_received_settings(folder: Path, values: Config, names: Iterable[str] = PATHS) -> None:
    """Raise if settings of a received folder lead out of it."""
    for name, how in outside_settings(values, folder, names).items():
        raise RunError(
            f"{folder} is sealed by another key and says {name} = {_short(values[name])}, which is {how} and "
            f"is not opened; if you trust the folder, take it over with `unalike runs seal {folder}`."
        )


def _leads_out(name: str, text: str, folder: Path) -> str | None:
    if text.startswith(SQL):
        return "a query"
    if name == "track":
        places = [tracker for tracker in separate(text) if _has_place(tracker)]
        return "a place to write" if places else None
    paths = [part for part in _parts(text) if _is_path(name, part)]
    return "a path outside its folder" if any(_is_outside(Path(part), folder) for part in paths) else None


def _has_place(tracker: str) -> bool:
    known = Spec.parse(tracker)
    return os.sep in tracker or (known.name in _WRITERS and bool(known.arguments))


def _parts(text: str) -> list[str]:
    """All that may be a path in the text of a setting."""
    spec = Spec.parse(text)
    arguments = [str(value) for value in spec.arguments]
    inside = [part for value in arguments if ":" in value for part in _parts(value)]
    return [text, spec.rest, spec.name, *arguments, *inside]


def _is_path(setting: str, part: str) -> bool:
    if not part or "\0" in part:
        return False
    if "/" in part or os.sep in part or part in (os.curdir, os.pardir):
        return True
    is_name = setting in _KINDS and Spec.parse(part).name in explain(_KINDS[setting])
    return os.path.lexists(part) and not is_name


def _is_outside(path: Path, folder: Path) -> bool:
    """Whether a path, or a link below it, leads out of a folder."""
    try:
        if not path.resolve().is_relative_to(folder):
            return True
        links = (inside for inside in path.rglob("*") if inside.is_symlink()) if path.is_dir() else ()
        return any(not link.resolve().is_relative_to(folder) for link in links)
    except (OSError, RuntimeError):  # a name that no file can have, or a circle of links
        return True


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
