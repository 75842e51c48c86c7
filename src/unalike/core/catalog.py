"""The catalog of names that can be typed, and what each is for.

Names come from a generated table (:mod:`.names`), without importing what they stand for. What a user's own
module has registered is added.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ..errors import ConfigError, DataError, unknown
from .names import kinds, names_of_kind
from .spec import Spec

KINDS = kinds()
"""By the word after `unalike list`."""


def explain(kind: str) -> dict[str, str]:
    """Each name with its one-line explanation.

    >>> explain("skews")["rotation"]
    "Each client's images turned by an angle of its own, uniform between minus and plus `degrees`."
    """
    return {**{name: entry.about for name, entry in names_of_kind(kind).items()}, **_live(kind)}


def _live(kind: str) -> dict[str, str]:
    """What is registered in this process, if anything is."""
    where = KINDS[kind]
    made = sys.modules.get(where.home)
    return {} if made is None else getattr(made, where.registry).explain()


def check_name(kind: str, spec: str | Spec) -> None:
    """Raise if nothing is called that; arguments after a colon are not looked at."""
    name = Spec.of(spec).name
    if name in names_of_kind(kind):
        return  # the usual case needs nobody's own names
    known = explain(kind)
    if name not in known:
        raise unknown(KINDS[kind].word, name, known)


def separate(words: str) -> list[str]:
    """Names that are separated by commas; a number after a comma is still an argument of the name before.

    >>> separate("f1, interval_coverage:0.9,2,auc")
    ['f1', 'interval_coverage:0.9,2', 'auc']
    """
    found: list[str] = []
    for word in (word.strip() for word in words.split(",") if word.strip()):
        argument = found and ":" in found[-1] and _is_number(word)
        found[-1:] = [f"{found[-1]},{word}"] if argument else [*found[-1:], word]
    return found


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _is_folder(name: str) -> bool:
    """Whether a name is that of a folder; the empty one is not that of the current folder."""
    try:
        return bool(name) and Path(name).is_dir()
    except OSError:  # no file system has a name like this
        return False


def check_no_folder(stream: str) -> None:
    """Raise if simulated rows should arrive in a folder: only a node of a deployment has one that grows."""
    name = Spec.parse(stream).name
    if name != "folder" and os.sep not in name and (":" in stream or not _is_folder(name)):
        return
    if name not in explain("arrivals"):
        raise ConfigError(
            f"stream = {stream!r} is a folder that grows, which only real clients have (`unalike join "
            "--stream FOLDER --memory 200`); a simulation says how rows arrive, such as constant:20."
        )


SQL = "sql:"
"""What stands before a query for rows."""
TABLES = (".csv", ".parquet")
"""How files end that are one table."""


def check_data(name: str) -> None:
    """Raise if this is neither a data set, a folder, a table nor a query."""
    if name.startswith(SQL):
        return
    if Path(name).suffix.lower() in TABLES and not _is_folder(name):
        if not Path(name).is_file():
            raise DataError(f"there is no file {name!r}.")
        return
    path = name.removeprefix("folder:")
    if os.sep in name or path != name or name == "folder":
        if not _is_folder(path):
            raise DataError(
                f"there is no folder {path!r}; give a saved federation or a folder of client files."
            )
    elif not _is_folder(name):
        check_name("data", name)
