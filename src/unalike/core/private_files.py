"""File permissions: output about people's rows is readable by the user only."""

from __future__ import annotations

from pathlib import Path

FOLDER, FILE = 0o700, 0o600
"""Modes of folders and files: open to their owner only."""


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, open to their owner only (`Path.mkdir` gives the
    mode to the last one alone); folders that are there keep their modes."""
    missing = [folder] if not folder.exists() else []
    missing += [above for above in folder.parents if missing and not above.exists()]
    for path in reversed(missing):
        path.mkdir(mode=FOLDER, exist_ok=True)
    folder.mkdir(exist_ok=True)  # what is there and no folder is refused, as by Path.mkdir
