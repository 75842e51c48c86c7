"""Verifying and renewing the seal of a run folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..core.run_files import CHECKPOINTS, CONFIG, RECORD, SEAL, UNLEARNING
from ..errors import RunError
from .record import Record
from .seal import (
    NEEDED,
    SEALED,
    Seal,
    changed_file_message,
    create_seal,
    file_digest,
    is_sealed_name,
    note_file,
    read_seal,
)
from .tensors import DamagedFileError, load_tensors

_TRIES = 20
"""How often a folder is looked at again that is being written to."""
_PAUSE = 0.01
"""Seconds between two looks, times their number."""
_HISTORY = f"{UNLEARNING}/branch-"
_known: dict[tuple[str, int, int, int, int], str] = {}
"""Digests by path, inode, size and times of files that were read in this process."""


class Change(NamedTuple):
    """A file that is not as it was sealed."""

    name: str
    how: str
    """changed, new or missing."""


def verify(folder: Path, *, with_history: bool = False) -> Seal:
    """What the seal of a folder says, if all its files are as it says; otherwise refused by name.

    Args:
        folder: A run folder, or the folder of a comparison.
        with_history: Whether to read the models that are kept for unlearning as well, which may be many.
    """
    _check_links(folder)
    for attempt in range(_TRIES):
        size = _size(folder / SEAL)  # before the log is read: a line that comes in between is then noticed
        seal = read_seal(folder)
        change = next(_changes(folder, seal, with_history), None)
        if change is None:
            return seal
        if size == _size(folder / SEAL):  # nobody is writing
            break
        time.sleep(_PAUSE * attempt)
    assert change is not None
    if change.how == "missing":
        raise RunError(
            f"{folder / change.name} is missing; bring the file back, or, if you deleted it on purpose, say "
            f"so with `unalike runs seal {folder}`."
        )
    raise RunError(changed_file_message(folder, change.name))


def changes(folder: Path) -> list[Change]:
    """All files that are not as they were sealed; all files, where a folder has no seal that can be read."""
    _check_links(folder)
    try:
        return list(_changes(folder, read_seal(folder), with_history=True))
    except RunError:
        return [Change(name, "new") for name in _names(folder)]


def seal_again(folder: Path) -> None:
    """Seal all files of a folder as they are, with the user's own key; what is damaged is refused."""
    _check_links(folder)
    create_seal(folder)
    for name in _names(folder):
        note_file(folder / name, folder / name)
    if (folder / RECORD).is_file():
        with Record(folder / RECORD) as record:
            record.take_over()
    for inside in folder.glob(f"{UNLEARNING}/retraining-*/{CONFIG}"):
        seal_again(inside.parent)


def _changes(folder: Path, seal: Seal, with_history: bool) -> Iterator[Change]:
    for name in NEEDED:
        if None not in seal.digests.get(name, (None,)) and not (folder / name).exists():
            yield Change(name, "missing")
    for name in _names(folder):
        if name.startswith(_HISTORY) and not with_history:
            continue
        accepted = seal.digests.get(name, (None,))
        try:
            digest = _digest(folder / name)
        except FileNotFoundError:  # an old checkpoint of a run that goes on
            continue
        if digest not in accepted and not _is_damaged_checkpoint(folder, name):
            yield Change(name, "new" if accepted == (None,) else "changed")


def _is_damaged_checkpoint(folder: Path, name: str) -> bool:
    """Whether it is a checkpoint that nobody can load: it is skipped, and an older one is taken."""
    if not name.startswith(CHECKPOINTS):
        return False
    try:
        load_tensors(folder / name)
    except DamagedFileError:
        return True
    return False


def _names(folder: Path) -> list[str]:
    """The sealed files that are there, by their paths in the folder."""
    found = {path.relative_to(folder).as_posix() for pattern in SEALED for path in folder.glob(pattern)}
    return sorted(name for name in found if is_sealed_name(name) and (folder / name).is_file())


def _digest(path: Path) -> str:
    facts = path.stat()
    known = (str(path.absolute()), facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    if known not in _known:
        _known[known] = file_digest(path)
    return _known[known]


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _check_links(folder: Path) -> None:
    """Raise for a link below the folder: it leads to something that is not the run's."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place) / name
            if path.is_symlink():
                raise RunError(f"{path} is a link; a run folder holds files only. Remove it.")
