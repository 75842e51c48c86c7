"""Messages after Ctrl-C: what was saved, and how to resume."""

from __future__ import annotations

from pathlib import Path

SAME = "the same command"
_going: dict[str, Path] = {}
"""The command that goes on with what this process trains, and its folder."""


def can_go_on(command: str, folder: Path) -> None:
    """From here on, what is finished is saved in a folder, with which a command goes on."""
    _going.clear()
    _going[command] = folder


def after_interruption() -> str:
    """What a person is told after Ctrl-C; a folder that was not made yet is not spoken of.

    >>> _going.clear()
    >>> after_interruption()
    'interrupted.'
    >>> can_go_on("unalike serve --resume", Path("/"))
    >>> after_interruption()
    'interrupted; what is finished is saved, go on with `unalike serve --resume /`.'
    >>> can_go_on(SAME, Path("/"))
    >>> after_interruption()
    'interrupted; what is finished is in /, go on with the same command.'
    >>> _going.clear()
    """
    for command, folder in _going.items():
        if folder.is_dir() and command == SAME:
            return f"interrupted; what is finished is in {folder}, go on with {SAME}."
        if folder.is_dir():
            return f"interrupted; what is finished is saved, go on with `{command} {folder}`."
    return "interrupted."
